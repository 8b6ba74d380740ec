"""Help pages: headings, aligned columns, and nothing that does not fit into 80 columns."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

# Lines longer than this are hard to read, however wide the terminal is.
_WIDEST = 100


class HelpPage:
    """Cyclopts hands over the parts of a page one by one."""

    def render_usage(self, console: "Console", _: "ConsoleOptions", usage: Any) -> None:
        console.print(f"Usage: {str(usage).strip()}\n", highlight=False, markup=False)

    def render_description(self, console: "Console", _: "ConsoleOptions", description: Any) -> None:
        # The wrapper would add an empty line of its own.
        text = getattr(description, "primary_renderable", description)
        console.print(text, width=min(console.width, _WIDEST))

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: "HelpPanel") -> None:  # noqa: ARG002 - cyclopts passes it
        # Imported late: a command that is run, not asked about, draws no page.
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        if not panel.entries:
            return
        table = Table.grid(padding=(0, 2), pad_edge=True)
        table.add_column(no_wrap=True, style="cyan")
        table.add_column()
        for entry in panel.entries:
            table.add_row(Text(label(entry)), entry.description)
        console.print()
        console.print(Text(str(panel.title), style="bold"))
        console.print(table, width=min(console.width, _WIDEST))


def label(entry: "HelpEntry") -> str:
    """`STUDY`, `-o, --output FILE`, `--emulate, --no-emulate`."""
    # Two fields of cyclopts 5: under 4, an argument has its name in capitals among the others.
    positional, metavar = (getattr(entry, field, None) for field in ("positional_label", "metavar"))
    if positional:
        return str(positional)
    names = ", ".join((*entry.positive_shorts, *entry.positive_names, *entry.negative_names))
    return f"{names} {metavar}" if metavar else names
