"""The configurations of Clients/bars, the widgets of their desk, and the output of --print-config."""

import os
import subprocess

from lib.protobuf import ROOT
from lib.system import PATIENCE, binary, clean_environment

BARS = os.path.join(ROOT, "Clients", "bars")
# The colours of the volume of the desk, and a colour in its text that must have no effect.
BLUE, RED, GREEN, MAGENTA = (0, 0, 200), (200, 0, 0), (0, 200, 0), (200, 0, 200)
HOSTILE = ("<span background='#c800c8'>mm</span>%{B#c800c8}mm%{B-}%{R}#[bg=#c800c8]mm#[default]"
           "#{host}#(touch hurt)%{A1:touch hurt:}mm%{A}\"},{\"full_text\":\"\",\"background\":"
           "\"#c800c8\"$(touch hurt)`touch hurt`")


def configuration(*names):
    return os.path.join(BARS, *names)


def volume(scratch, field):
    return scratch.ctl("get", "bar/volume", "--field", f"data.{field}").stdout.strip()


def reset(scratch):
    scratch.ctl("set", "bar/volume", "percent=40", "isMuted=false", "title=volume")
    scratch.ctl("set", "bar/battery", "percent=80")


def printed(format, *arguments):
    """What --print-config prints for the usual socket."""
    done = subprocess.run(
        [binary("widgetctl"), "bar", "--format", format, *arguments, "--print-config"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE,
        env=clean_environment())
    return done.stdout
