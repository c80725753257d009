#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/gpus.md from include/corun/gpu_parameters.def and configs/gpu/*.yaml.

    describe_gpus.py ROOT            writes ROOT/docs/gpus.md
    describe_gpus.py ROOT --check    says whether it is current, and whether every file states every parameter
    describe_gpus.py ROOT --fill     adds missing parameters to the files, with the default and "assumed"
"""
import os
import re
import sys

ROW_P = re.compile(r'P\((\w+), ([^,]+), ([^,]+), ([^,]+), (\w+), "(.*)"\)')
ROW_E = re.compile(r'E\((\w+), (\w+), (\w+), "(.*)"\)')
# The files that come with corun keep to one line a parameter, so that a difference is a line.
VALUE = re.compile(r'  (\w+): \{value: ([^,]+), unit: ([\w/]+), source: ("[^"]*"|[^"},]+)\}')
SOURCE = re.compile(r'  (\w+): "(.*)"')
UNITS = {"BYTES": "bytes", "CYCLES": "cycles", "KHZ": "kHz", "COUNT": "count", "BOOL": "bool", "FJ": "fJ", "MW": "mW", "MBPS": "MB/s", "NS": "ns", "PERMILLE": "permille",
         "WORD": "word"}
WRITTEN = {"kHz": {"kHz", "MHz"}, "fJ": {"fJ", "pJ"}, "mW": {"mW", "W"}}


def read_table(root):
    """[(section, [(name, unit, initial, range, meaning)])] of gpu_parameters.def."""
    with open(os.path.join(root, "include/corun/config.h"), encoding="utf-8") as file:
        tables = dict(re.findall(r"#define CORUN_(\w+)_WORDS\(W\)((?:.*\\\n)*.*)", file.read()))
    words = {f"corun_{name.lower()}": ", ".join(f"{word} ({meaning})" for word, meaning in
                                             re.findall(r'W\(\w+, "(\w+)", "([^"]*)"\)', body))
             for name, body in tables.items()}
    sections = [("general", [])]
    with open(os.path.join(root, "include/corun/gpu_parameters.def"), encoding="utf-8") as file:
        for line in file:
            heading = re.match(r"/\* (.*?) \*/$", line)
            number, word = ROW_P.match(line), ROW_E.match(line)
            if heading:
                sections.append((heading.group(1), []))
            elif number:
                name, initial, low, high, unit, meaning = number.groups()
                sections[-1][1].append((name, UNITS[unit], initial, f"{low} to {high}", meaning))
            elif word:
                name, initial, table, meaning = word.groups()
                sections[-1][1].append((name, "word", initial.lower(), words[table], meaning))
            elif re.match(r"[PE]\(", line):
                raise SystemExit(f"gpu_parameters.def: cannot read: {line.strip()}")
    return [section for section in sections if section[1]]


def read_gpu(path):
    gpu = {"path": path, "sources": {}, "values": {}, "notes": []}
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    part = None
    for number, line in enumerate(lines, 1):
        top = re.match(r'(name|title|sources|parameters):\s*"?([^"]*)"?$', line)
        if top:
            part = top.group(1)
            gpu[part if part in ("name", "title") else "_"] = top.group(2)
        elif line.startswith("# "):
            gpu["notes"].append(line[2:])
        elif not line.strip() or line.lstrip().startswith("#"):
            continue
        elif part == "sources" and SOURCE.fullmatch(line):
            gpu["sources"][SOURCE.fullmatch(line).group(1)] = SOURCE.fullmatch(line).group(2)
        elif part == "parameters" and VALUE.fullmatch(line):
            name, value, unit, source = VALUE.fullmatch(line).groups()
            gpu["values"][name] = (value, unit, source.strip('"'))
        else:
            raise SystemExit(f"{path}:{number}: expected one parameter a line, "
                             f"'  name: {{value: 1, unit: count, source: …}}', found: {line}")
    return gpu


def shown(value, unit):
    return f"{value} {unit}" if unit == "MHz" else value.replace("true", "yes").replace("false", "no")


def complaints_of(gpu, sections):
    complaints = []
    units = {name: unit for _, rows in sections for name, unit, *_ in rows}
    for name, unit in units.items():
        if name not in gpu["values"]:
            complaints.append(f"{gpu['path']}: no {name} (scripts/describe_gpus.py --fill adds it)")
        elif gpu["values"][name][1] not in WRITTEN.get(unit, {unit}):
            complaints.append(f"{gpu['path']}: the unit of {name} is {unit}")
    used = {source.split(":")[0] for _, _, source in gpu["values"].values()} - {"assumed"}
    for name in sorted(set(gpu["sources"]) ^ used):
        if not any(name in text for text in gpu["sources"].values()):
            complaints.append(f"{gpu['path']}: source '{name}' is " + ("unused" if name in gpu["sources"] else "unknown"))
    return complaints


# Single precision GFLOP/s and DRAM GB/s that the vendor states, where the GPU exists.
VENDOR = {"a100": (19500, 1555), "gtx680": (3090, 192.3), "gtx980": (4612, 224.4), "h100": (66900, 3352), "quadro-fx5800": (622, 102.4),
          "quadro-v100": (14800, 870), "tesla-c2050": (1030, 144.0),
          "tesla-m2090": (1332, 177.4)}


def peaks_of(gpu):
    """What the configuration can reach at most: single precision GFLOP/s, GB/s of L2 and DRAM."""
    def value(name):
        text, unit, _ = gpu["values"][name]
        scale = {"MHz": 1e6, "kHz": 1e3}.get(unit, 1) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1)
        return float(text.rstrip("KMG")) * scale

    # a scheduler issues one multiply-add at a time: its second instruction in a cycle goes to another unit
    warps = min(value("fp32_units") / value("fp32_mad_interval"), value("schedulers_per_sm") / value("warp_issue_cycles"))
    flops = value("sms") * warps * 32 * 2 * value("core_clock_khz")
    dram = value("memory_controllers") * value("dram_bus_bytes") * value("dram_data_rate") * value("dram_clock_khz")
    slices = value("memory_controllers") * value("slices_per_controller")
    l2 = slices * value("l2_bytes_per_cycle") * value("l2_clock_khz") if value("l2_bytes") else 0
    return flops / 1e9, l2 / 1e9, dram / 1e9


def peaks(gpus):
    out = ["## Peaks", "", "From the configuration: single precision multiply-adds (two operations each) that the schedulers can issue and",
           "the pipelines take, the ports of the L2 slices, the pins of the DRAM. What kernels reach of them, and where a peak",
           "differs from the vendor's, is in [gpu-validation.md](gpu-validation.md).", "",
           "| | GFLOP/s | vendor | L2, GB/s | DRAM, GB/s | vendor |", "|---|--:|--:|--:|--:|--:|"]
    for gpu in gpus:
        flops, l2, dram = peaks_of(gpu)
        vendor = VENDOR.get(gpu["name"], ("", ""))
        out.append(f"| {gpu['name']} | {flops:.0f} | {vendor[0]} | {l2:.0f} | {dram:.1f} | {vendor[1]} |")
    return out + [""]


def page(sections, gpus):
    out = ["# GPUs", "",
           "<!-- Made by scripts/describe_gpus.py from include/corun/gpu_parameters.def and configs/gpu/*.yaml. -->", "",
           "`--gpu NAME` takes one of these (`v100` will do for `quadro-v100`), `--gpu FILE.yaml` one of your own, and either can be followed by overrides:",
           "`--gpu gtx980:sms=8,l2=4M,scheduler=lrr`. A name may be shortened: its unit can be left out (`l2` is `l2_bytes`,",
           "`core_clock` is `core_clock_khz`), or all but an unambiguous beginning. K, M and G are powers of 1024 for bytes and of",
           "1000 otherwise; clocks also take a unit (`core_clock=1216MHz`). Each value in the files has a unit and a source; the",
           "source says where it was published, or `assumed` and why.", ""]
    out += ["| GPU | what it is |", "|---|---|"]
    out += [f"| [`{gpu['name']}`](#{gpu['name']}) | {gpu['title']} |" for gpu in gpus]
    out += ["", "## A file", "", "```yaml", "name: my-gpu", "sources:", '  manual: "The manual of my GPU, 2024"',
            "parameters:", "  sms: {value: 24, unit: count, source: \"manual: page 3\"}",
            "  core_clock_khz: {value: 1400, unit: MHz, source: manual}",
            "  l2_bytes: {value: 768K, unit: bytes, source: \"assumed: as its predecessor\"}",
            "  tbs_per_sm: 16    # the short form takes the table's unit", "```", "",
            "What a file does not say has the default value, which is the GTX 980's. Wrong keys, units and values are reported",
            "with line and column, all of them at once; values that do not fit together (a cache that does not divide into sets) too.",
            ""] + peaks(gpus) + ["## Parameters", ""]
    for section, rows in sections:
        out += [f"### {section[0].upper()}{section[1:]}", "", "| parameter | unit | range | meaning |", "|---|---|---|---|"]
        out += [f"| `{name}` | {unit} | {limits} | {meaning} |" for name, unit, _, limits, meaning in rows]
        out += ["", "| | " + " | ".join(gpu["name"] for gpu in gpus) + " |", "|---" * (len(gpus) + 1) + "|"]
        for name, *_ in rows:
            cells = [shown(*gpu["values"][name][:2]) if name in gpu["values"] else "" for gpu in gpus]
            out.append(f"| `{name}` | " + " | ".join(cells) + " |")
        out.append("")
    for gpu in gpus:
        out += [f"## {gpu['name']}", "", f"{gpu['title']}. " + " ".join(gpu["notes"]), ""]
        out += [f"* `{name}`: {text}" for name, text in gpu["sources"].items()]
        assumed = {}
        for name, (_, _, source) in gpu["values"].items():
            if source.split(":")[0] == "assumed":
                assumed.setdefault(source.partition(": ")[2] or "without reason", []).append(f"`{name}`")
        out += ["", f"{len(gpu['values']) - sum(map(len, assumed.values()))} of {len(gpu['values'])} values are published. Assumed:",
                ""]
        out += [f"* {reason}: {', '.join(names)}" for reason, names in assumed.items()]
        out.append("")
    return "\n".join(out)


def fill(gpu, sections):
    """Adds missing parameters before the next one that the file has, keeping the order of the table."""
    with open(gpu["path"], encoding="utf-8") as file:
        lines = file.read().splitlines()
    for section, rows in sections:
        for index, (name, unit, initial, _, _) in enumerate(rows):
            if name in gpu["values"]:
                continue
            value = {"bool": {"0": "false", "1": "true"}}.get(unit, {}).get(initial, initial)
            line = f'  {name}: {{value: {value}, unit: {unit}, source: "assumed: default of the model"}}'
            before = [rows[i][0] for i in range(index)]
            at = max((i + 1 for i, text in enumerate(lines)
                      if text == f"  # {section}" or any(text.startswith(f"  {n}: ") for n in before)), default=len(lines))
            lines.insert(at, line)
            gpu["values"][name] = (value, unit, "assumed: default of the model")
    known = {name for _, rows in sections for name, *_ in rows}
    lines = [line for line in lines if not VALUE.fullmatch(line) or VALUE.fullmatch(line).group(1) in known]
    with open(gpu["path"], "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--check"], ["--fill"]):
        print(__doc__, file=sys.stderr)
        return 2
    root = arguments[0]
    sections = read_table(root)
    folder = os.path.join(root, "configs/gpu")
    gpus = [read_gpu(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".yaml")]
    if arguments[1:] == ["--fill"]:
        for gpu in gpus:
            fill(gpu, sections)
        gpus = [read_gpu(gpu["path"]) for gpu in gpus]
    complaints = [complaint for gpu in gpus for complaint in complaints_of(gpu, sections)]
    text = page(sections, gpus)
    path = os.path.join(root, "docs/gpus.md")
    if arguments[1:] == ["--check"]:
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                complaints.append(f"{path}: not current; run scripts/describe_gpus.py {root}")
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
