"""A figure to be drawn: plain data, which any process can draw."""

from __future__ import annotations

from dataclasses import dataclass

from recallscope.results.panels import Picture


@dataclass(frozen=True)
class PictureJob:
    """A picture, and the formats and the width that are wanted of it."""

    picture: Picture
    title: str
    kinds: tuple[str, ...]
    width: float | None = None

    def run(self) -> list[bytes]:
        """What a file of each format holds.

        >>> [drawn[:4] for drawn in PictureJob(Picture(caption=""), "", ("pdf",)).run()]
        [b'%PDF']
        """
        from recallscope.plotting.picture import picture_figure  # loads matplotlib, only to draw
        from recallscope.plotting.style import draw

        figure = picture_figure(self.picture, self.title, width=self.width)
        if len(self.kinds) > 1:  # laid out once for all of them
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        return [draw(figure, kind) for kind in self.kinds]
