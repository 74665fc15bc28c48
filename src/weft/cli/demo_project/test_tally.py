import unittest

from tally import mean, median, spread


class TallyTest(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 3]), 2)

    def test_median_of_an_odd_count(self):
        self.assertEqual(median([5, 1, 3]), 3)

    def test_median_of_an_even_count(self):
        self.assertEqual(median([4, 1, 3, 2]), 2.5)

    def test_spread(self):
        self.assertEqual(spread([7, 2, 9]), 7)


if __name__ == "__main__":
    unittest.main()
