"""Shell lines for fuzzing: pieces of ordinary and of hostile commands, put together and damaged at random."""

import random


def _words(text: str) -> list[str]:
    return text.split(" ")


PROGRAMS = _words(
    "ls echo cat head tail wc sort uniq grep find sed awk git rg cut tr diff stat file date printf test pwd true "
    "false touch rm sh bash env xargs tee timeout nice command eval cp mv mkdir python3 nl od tac comm seq du which"
)
WORDS = _words(
    "a.txt b.txt sub/c.txt -l -la -n 5 -r -k2 -o out --output=out -name '*.txt' -type f -exec -delete -print 1,2p p "
    "s/a/b/ s/a/b/w 'w out' e '{print $1}' '{print > \"out\"}' HEAD log status --oneline --format=%h --pre=./x "
    '-c alias.x=!touch -f -i -e x * *.txt ?.txt [ab].txt ~ . .. / /etc/hostname $HOME ${HOME} $x "$x" "a b" '
    "'c d' $(touch_out) `touch_out` <(touch_out) {a,b} {1..3} $'x' -- - \\; {} + = != 2>&1 >/dev/null 2>/dev/null "
    "> out >> out < a.txt <<<x a\\ b \\-o -\\o # 'x'y \"x\"'y' \\$x $? $$ é ! -v -p 3 5s"
)
JOINS = (
    " ",
    " ",
    " ",
    " ",
    "; ",
    " && ",
    " || ",
    " | ",
    " & ",
    "\n",
    " |& ",
    ";",
    "|",
    "&&",
    " ;; ",
    "\\\n",
    "\t",
    "  ",
)
NOISE = (
    *"'\"\\$`(){}[];&|<>#!~*?= \n\t\r=^%",
    *("<<E\n", "\nE\n", "\u200b", "if ", "; then ", "; fi", "( ", " )", "{ ", "; }"),
)


def line(source: random.Random) -> str:
    """One line: mostly well formed, sometimes with a piece of noise in it."""
    commands: list[str] = []
    for _ in range(source.choice((1, 1, 1, 2, 2, 3))):
        words = [source.choice(PROGRAMS)]
        words += [source.choice(WORDS) for _ in range(source.randrange(5))]
        commands.append(" ".join(words))
    text = commands[0]
    for command in commands[1:]:
        text += source.choice(JOINS) + command
    if source.random() < 0.25:
        at = source.randrange(len(text) + 1)
        text = text[:at] + source.choice(NOISE) + text[at:]
    if source.random() < 0.1 and len(text) > 4:
        at = source.randrange(len(text) - 1)
        text = text[:at] + text[at + 1 :]
    return text
