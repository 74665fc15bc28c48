"""An editor without a screen: documents in memory over the disk, real language servers, a real Jupyter kernel."""
