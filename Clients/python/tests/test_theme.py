"""The theme as messages and as values."""

import dataclasses
import unittest

import widgetd
from widgetd import FontWeight, Theme, ThemeChanged, ThemeColors, ThemeFont
from widgetd import messages as pb
from widgetd.theme import value_pb

from .test_client import DaemonCase

VALUES = {
    "color.brand": ThemeColors("#ff6600", "#ff9944", "#ffcc0080"),
    "font.title": ThemeFont(20, FontWeight.BOLD, True, True),
    "offset.basic": 6.5,
}


def message(**fields):
    values = {token: value_pb(value) for token, value in VALUES.items()}
    return pb.Theme(values=values, **fields)


class ThemeTests(unittest.TestCase):
    def test_every_field_of_the_messages_has_a_place(self):
        """The test fails if the schema has a field that this package does not know."""
        for mine, theirs in (
            (Theme, pb.Theme),
            (ThemeColors, pb.ThemeColors),
            (ThemeFont, pb.ThemeFont),
            (ThemeChanged, pb.UpdateThemeResponse),
        ):
            self.assertEqual(
                sorted(field.name for field in dataclasses.fields(mine)),
                sorted(field.name for field in theirs.DESCRIPTOR.fields),
            )

    def test_a_theme_is_read(self):
        theme = Theme.from_pb(message(overridden=["color.brand"], revision=4, etag="e"))
        self.assertEqual(theme, Theme(VALUES, ("color.brand",), 4, "e"))
        self.assertEqual(theme["color.brand"].dark, "#ff9944")
        # A value of a later daemon is left out.
        later = message()
        later.values["motion.fast"].SetInParent()
        self.assertEqual(Theme.from_pb(later).values, VALUES)

    def test_text_is_a_colour_for_all_appearances_and_other_types_are_refused(self):
        self.assertEqual(value_pb("#000000"), value_pb(ThemeColors("#000000")))
        self.assertEqual(value_pb(3).offset, 3)
        for wrong in (True, None, [1]):
            with self.assertRaises(TypeError):
                value_pb(wrong)


class ThemeCallTests(DaemonCase):
    def test_the_theme_is_read_and_changed(self):
        self.daemon.answers["GetTheme"] = pb.GetThemeResponse(theme=message(revision=3))
        self.assertEqual(self.client.get_theme(), Theme(VALUES, revision=3))
        path, _ = self.daemon.call(pb.GetThemeRequest)
        self.assertEqual(path, "/widgetd.v1.CatalogService/GetTheme")
        self.daemon.answers["UpdateTheme"] = pb.UpdateThemeResponse(
            theme=message(), changed=True, revision=5
        )
        done = self.client.update_theme(
            {"color.brand": "#ff6600", "offset.basic": 6},
            unset=["font.x"],
            replace=True,
            validate_only=True,
            etag="e",
            request_id="r",
        )
        self.assertEqual(done, ThemeChanged(Theme(VALUES), True, 5))
        path, asked = self.daemon.call(pb.UpdateThemeRequest)
        self.assertEqual(path, "/widgetd.v1.CatalogService/UpdateTheme")
        expected = pb.UpdateThemeRequest(
            unset=["font.x"], replace=True, validate_only=True, etag="e", request_id="r"
        )
        expected.set["color.brand"].color.light = "#ff6600"
        expected.set["offset.basic"].offset = 6
        self.assertEqual(asked, expected)


if __name__ == "__main__":
    unittest.main()
