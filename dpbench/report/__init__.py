"""One self-contained HTML page of everything: `gather` collects facts from the store, `page` writes them down."""
