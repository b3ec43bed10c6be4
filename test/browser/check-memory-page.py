#!/usr/bin/env python3
#===- check-memory-page.py - the page of --memory-report=html, in a browser ---*- Python -*-===#
#
# Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# usage: check-memory-page.py <folder of the tools> <recipes/models> <output folder>
#
# Compiles models, opens each page in headless Chromium, at the width of a desk and of a
# phone, and checks
#   - what the page says of itself: it compares what it has drawn with its report
#     (faultsOf... in compiler/report/page/memory.js);
#   - that it asks for nothing else than itself: no address, no other file;
#   - the screenshot: its size, and that bars, curves and schedule are in it, by colour;
# and that a page does not pass whose report is made to lie.
#
#===----------------------------------------------------------------------===#
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

BROWSERS = ["chromium-headless-shell", "chromium", "google-chrome"]
PAGES = {
    "pipeline": ("nano", ["--tp=2", "--pp=2", "--dp=2", "--sp", "--micro-batches=4", "--micro-batch-samples=2"]),
    "one-rank": ("nano-gpt2", []),
    "many-stages": ("llama2-7b", ["--tp=8", "--pp=16", "--sp", "--micro-batches=24", "--dtype=bf16",
                                   "--cluster={clusters}/dgx-h100.yaml"]),
}
SIZES = {"desk": (1280, 1700), "phone": (390, 3000)}
THEMES = {"light": (0xF7, 0xF7, 0xF5), "dark": (0x13, 0x15, 0x19)}  # the page's ground
# Categories and runs, each of at least so many pixels, as memory.css paints them.
INK = {
    "light": {"parameters": (0x42, 0x69, 0xD0), "gradients": (0xE5, 0xA5, 0x0A), "optimizer": (0x4F, 0xB3, 0xA0),
              "activations": (0xF0, 0x65, 0x4F), "forward": (0x3F, 0x9E, 0x57), "backward": (0x6A, 0xA5, 0xE8)},
    "dark": {"parameters": (0x64, 0x88, 0xE8), "gradients": (0xD9, 0xA5, 0x20), "optimizer": (0x55, 0xB8, 0xA5),
             "activations": (0xF2, 0x7B, 0x67), "forward": (0x4C, 0xAE, 0x65), "backward": (0x5C, 0x93, 0xD1)},
}
LEAST_PIXELS = 400


def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or sys.exit(f"none of {', '.join(BROWSERS)} is installed: scripts/install-dependencies.sh")


def open_page(page, theme, width, height, *flags):
    """Standard output of the browser."""
    # A process of the browser may still write there when the first one has ended; and /dev/shm may be small.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser(), "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
                   f"--user-data-dir={profile}", f"--window-size={width},{height}", "--virtual-time-budget=5000", *flags,
                   f"{page.resolve().as_uri()}#{theme}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def self_check(page, theme, width, height):
    found = re.search(r'<html[^>]*data-self-check="([^"]*)"', open_page(page, theme, width, height, "--dump-dom"))
    return found.group(1) if found else "the page did not check itself"


def unfiltered(kind, line, above, pixel):
    """A line of a PNG without its filter (PNG specification, 9.2)."""
    out = bytearray(line)
    for i, value in enumerate(line):
        left, up = out[i - pixel] if i >= pixel else 0, above[i]
        corner = above[i - pixel] if i >= pixel else 0
        if kind == 4:
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
        else:
            near = (0, left, up, (left + up) // 2)[kind]
        out[i] = (value + near) & 255
    return out


def colours(path):
    """Width, height and {colour: pixels} of an 8-bit RGB or RGBA picture."""
    data, place, packed = path.read_bytes(), 8, b""
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        chunk = data[place + 8:place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", chunk[:10])
        elif kind == b"IDAT":
            packed += chunk
        place += 12 + length
    pixel = {2: 3, 6: 4}[colour]
    assert depth == 8
    lines, above, counts = zlib.decompress(packed), bytearray(width * pixel), {}
    for y in range(height):
        start = y * (width * pixel + 1)
        above = unfiltered(lines[start], lines[start + 1:start + 1 + width * pixel], above, pixel)
        if y % 2:  # every second line says enough
            continue
        for x in range(0, width * pixel, pixel):
            key = bytes(above[x:x + 3])
            counts[key] = counts.get(key, 0) + 2
    return width, height, counts


def faults_of_picture(path, size, theme):
    width, height, counts = colours(path)
    faults = [] if (width, height) == size else [f"is {width} x {height}, expected {size[0]} x {size[1]}"]
    share = counts.get(bytes(THEMES[theme]), 0) / (width * height)
    if not 0.005 < share < 0.9:
        faults.append(f"has {share:.1%} of the ground of the {theme} theme")
    for name, colour in INK[theme].items():
        pixels = counts.get(bytes(colour), 0)
        if pixels < LEAST_PIXELS:
            faults.append(f"has {pixels} pixels of {name}, expected {LEAST_PIXELS}")
    return faults


def make_page(tools, recipes, folder, name):
    model, flags = PAGES[name]
    flags = [flag.format(clusters=recipes.parent / "clusters") for flag in flags]
    text, plan, page = folder / f"{model}.mlir", folder / f"{name}.bin", folder / f"{name}.html"
    subprocess.run([tools / "tgpt-import", recipes / f"{model}.yaml", "-o", text], check=True)
    with open(page, "w", encoding="utf-8") as out:
        subprocess.run([tools / "tgpt-opt", *flags, "--memory-report=html", text, "-o", plan], stdout=out, check=True)
    return page


def foreign(page):
    """Addresses that the page could fetch; the names of SVG and HTML are none."""
    text = page.read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[\w./-]+", text)) - {"http://www.w3.org/2000/svg"}
    return sorted(addresses | set(re.findall(r"(?:src|href)=[\"'][^\"']+|@import|url\([^)]*\)|\bfetch\(|XMLHttpRequest", text)))


def lying(page, folder):
    """The page with one byte more at the peak of its first stage than its schedule has."""
    text = page.read_text(encoding="utf-8")
    lie = re.sub(r'("peak":\{"bytes":)(\d+)', lambda m: m.group(1) + str(int(m.group(2)) + 1), text, count=1)
    assert lie != text
    path = folder / "lying.html"
    path.write_text(lie, encoding="utf-8")
    return path


def main():
    tools, recipes, folder = map(pathlib.Path, sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    faults, checks = [], 0
    for name in PAGES:
        page = make_page(tools, recipes, folder, name)
        faults += [f"{name}: asks for {address}" for address in foreign(page)]
        for (where, size), theme in zip(SIZES.items(), ("light", "dark")):
            picture = folder / f"{name}-{where}.png"
            said = self_check(page, theme, *size)
            faults += [] if said == "passed" else [f"{name}, {where}: {said}"]
            open_page(page, theme, *size, f"--screenshot={picture}")
            faults += [f"{picture.name} {fault}" for fault in faults_of_picture(picture, size, theme)]
            checks += 1
    said = self_check(lying(folder / "pipeline.html", folder), "light", *SIZES["desk"])
    if "the schedule peaks at" not in said or "add up to the peak" not in said:
        faults.append(f"a page that lies says of itself: {said}")
    print("\n".join(faults + [f"{checks} pages in {browser()}, {len(faults)} faults; screenshots in {folder}"]))
    sys.exit(1 if faults or not checks else 0)


if __name__ == "__main__":
    main()
