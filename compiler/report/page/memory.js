'use strict';
// The page of --memory-report=html. It draws the report in #report, and then checks what it has drawn against it: the
// attribute data-self-check of the root says "passed" or what is wrong.

const report = JSON.parse(document.getElementById('report').textContent);
const categories = ['parameters', 'gradients', 'optimizer', 'communication', 'workspace', 'activations', 'scratch'];
const byId = (id) => document.getElementById(id);
const color = (name) => `var(--${name})`;

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = Math.abs(bytes), unit = 0;
  for (; value >= 1024 && unit + 1 < units.length; ++unit) value /= 1024;
  const digits = unit === 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${bytes < 0 ? '−' : ''}${value.toFixed(digits)} ${units[unit]}`;
}
/** "+3.5%", "0%". */
function percentText(share, digits) {
  const text = (100 * share).toFixed(digits);
  return +text === 0 ? '0%' : `${share > 0 ? '+' : '−'}${text.replace('-', '')}%`;
}
const signedBytes = (bytes) => (bytes > 0 ? '+' : '') + bytesText(bytes);

/** An element with attributes, text or children. */
function element(tag, attributes = {}, ...children) {
  const isSvg = ['svg', 'path', 'rect', 'line', 'text', 'circle', 'g', 'title'].includes(tag);
  const made = isSvg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// ---------------------------------------------------------------- head

function drawHead() {
  document.title = `memory of ${report.model}`;
  byId('model').textContent = `Memory of ${report.model}`;
  byId('mesh').replaceChildren(...report.mesh.split(' ').map((axis) => element('span', {}, axis)));
  byId('options').textContent = report.options;
  const largest = largestStage();
  const ranks = report.stages.reduce((sum, stage) => sum + stage.ranks, 0);
  const tile = (value, text) => element('div', {}, element('b', {}, value), element('span', {}, text));
  byId('tiles').replaceChildren(
    tile(bytesText(largest.arena_bytes), `a rank of the largest stage, ${largest.stage}`),
    tile(bytesText(largest.live_bytes), 'live at its peak'),
    tile((largest.arena_bytes / largest.live_bytes).toFixed(4), 'arena / peak; 1 is perfect'),
    tile(`${report.stages.length} × ${report.stages[0].ranks}`, `stages × ranks, ${ranks} in all`));
}

const largestStage = () => report.stages.reduce((a, b) => (b.arena_bytes > a.arena_bytes ? b : a));
const outsideBytes = () => (report.device ? report.device.outside.reduce((sum, part) => sum + part.bytes, 0) : 0);

function legend(id, names) {
  byId(id).replaceChildren(...names.map((name) =>
    element('li', {}, element('i', {style: `background:${color(name)}`}), name.replace('_', ' '))));
}

// ---------------------------------------------------------------- bars and peaks

function drawBars() {
  legend('legend', report.device ? [...categories, 'outside'] : categories);
  const most = Math.max(largestStage().arena_bytes + outsideBytes(), report.device ? report.device.bytes : 0);
  byId('bars').replaceChildren(...report.stages.map((stage) => {
    const part = (name, bytes) =>
      element('i', {style: `width:${100 * bytes / most}%;background:${color(name)}`, title: `${name} ${bytesText(bytes)}`});
    const track = element('span', {class: 'track'}, ...categories.map((name) => part(name, stage[name].bytes)));
    if (report.device) {
      track.append(part('outside', outsideBytes()));
      track.append(element('u', {style: `left:${100 * report.device.bytes / most}%`, title: 'memory of the device'}));
    }
    const bar = element('button', {class: 'bar', type: 'button', 'aria-pressed': 'false', 'data-stage': stage.stage},
      element('span', {}, `stage ${stage.stage}`), track,
      element('span', {class: 'value'}, bytesText(stage.arena_bytes)));
    bar.onclick = () => chooseStage(byId('stage').value === String(stage.stage) ? 'all' : String(stage.stage));
    return bar;
  }));
  drawPeaks();
  byId('outside').textContent = report.device
    ? `Outside of the plan on ${report.device.name}: ${report.device.outside.map((p) => `${p.what} ${bytesText(p.bytes)}`).join(', ')}. ${leftText()}`
    : 'Not counted, because they are of the device and its libraries: its context, libraries, communicator buffers.';
}

/** What the largest stage leaves of the device, or lacks, as the text report says it. */
function leftText() {
  const largest = largestStage(), left = report.device.bytes - outsideBytes() - largest.arena_bytes;
  return `Of the device's memory (the dashed line), ${bytesText(report.device.bytes)}, ${left < 0 ? 'are missing' : 'are left'} ${bytesText(Math.abs(left))} on stage ${largest.stage}.`;
}

/** The op of the model whose inputs hold most, as the text report names it. */
function largestInputs(stage) {
  const sums = new Map();
  for (const item of stage.peak.live.filter((one) => one.input_of)) {
    const key = `${item.input_of} inputs|${item.input_line}`;
    sums.set(key, (sums.get(key) || 0) + item.bytes);
  }
  return [...sums].sort((a, b) => b[1] - a[1])[0];
}

/// A sentence a stage; of many stages the largest three are in sight.
function drawPeaks() {
  const inSight = report.stages.length > 4 ? 3 : 4;
  const ordered = [...report.stages].sort((a, b) => b.peak.bytes - a.peak.bytes || a.stage - b.stage);
  const first = new Set(ordered.slice(0, inSight).map((stage) => stage.stage));
  const sentences = (inFirst) => report.stages.filter((stage) => first.has(stage.stage) === inFirst).map(peakSentence);
  byId('peaks').replaceChildren(...sentences(true));
  const rest = sentences(false);
  if (rest.length > 0)
    byId('peaks').append(element('li', {}, element('details', {}, element('summary', {}, `the other ${rest.length} stages`),
      element('ul', {class: 'peaks'}, ...rest))));
}

function peakSentence(stage) {
  const peak = stage.peak, inputs = largestInputs(stage);
  const sentence = element('li', {}, `stage ${stage.stage} peaks at ${peak.segment}`,
    peak.micro_batch >= 0 ? ` of micro-batch ${peak.micro_batch}: ` : ': ', element('b', {}, bytesText(peak.bytes)));
  if (inputs) sentence.append(`, ${bytesText(inputs[1])} of it ${inputs[0].split('|')[0]} (${inputs[0].split('|')[1]})`);
  sentence.append(`, ${peak.micro_batches_in_flight} in flight, while ${peak.instruction} runs${peak.line ? `, ${peak.line}` : ''}`);
  return sentence;
}

// ---------------------------------------------------------------- over a step

const isSimulated = report.schedule_unit === 'nanoseconds';
const chart = {height: 120, gantt: 20, left: 62, right: 8, top: 16, times: isSimulated ? 16 : 0};

/** Three digits of a time in nanoseconds. */
function timeText(nanoseconds) {
  const [scale, unit] = nanoseconds < 1e3 ? [1, 'ns'] : nanoseconds < 1e6 ? [1e3, 'us'] : nanoseconds < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  return `${Number((nanoseconds / scale).toPrecision(3))} ${unit}`;
}

/** [begin, end, activations, scratch] in the order of time: of each pixel the moment of most. */
function curveOf(stage, pixelsPerUnit) {
  const points = [], line = stage.timeline;
  for (const [index, [segment, , others, , begin, end]] of line.entries.entries()) {
    const {activation_bytes: activations, scratch_bytes: scratch} = line.segments[segment];
    const count = activations.length;
    const samples = Math.max(1, Math.min(count, Math.ceil((end - begin) * pixelsPerUnit)));
    const last = points[points.length - 1];
    for (let sample = 0; sample < samples && count > 0; ++sample) {
      let best = Math.floor(sample * count / samples);
      for (let i = best; i < Math.floor((sample + 1) * count / samples); ++i)
        if (activations[i] + scratch[i] > activations[best] + scratch[best]) best = i;
      const from = begin + (end - begin) * sample / samples, to = begin + (end - begin) * (sample + 1) / samples;
      if (sample === 0 && last && from > last.to)
        points.push({from: last.to, to: from, activations: Math.min(last.activations, others + activations[best]), scratch: 0, entry: -1});
      points.push({from, to, activations: others + activations[best], scratch: scratch[best], entry: index, instruction: best});
    }
  }
  return points;
}

function areaPath(points, x, y, lower, upper) {
  if (points.length === 0) return '';
  const forth = points.map((p) => `${x(p.from)},${y(upper(p))} ${x(p.to)},${y(upper(p))}`);
  const back = [...points].reverse().map((p) => `${x(p.to)},${y(lower(p))} ${x(p.from)},${y(lower(p))}`);
  return `M${forth.join(' ')} ${back.join(' ')}Z`;
}

function drawChart(stage, width, lastTime, most) {
  const inner = Math.max(60, width - chart.left - chart.right), bottom = chart.top + chart.height;
  const x = (time) => (chart.left + inner * time / lastTime).toFixed(2);
  const y = (bytes) => (bottom - chart.height * bytes / most).toFixed(2);
  const svg = element('svg', {viewBox: `0 0 ${width} ${bottom + chart.gantt + 8 + chart.times}`, role: 'img', 'data-stage': stage.stage});
  for (const share of [0, .5, 1]) {
    svg.append(element('line', {class: 'axis', x1: chart.left, x2: width - chart.right, y1: y(most * share), y2: y(most * share)}));
    svg.append(element('text', {x: chart.left - 6, y: +y(most * share) + 4, 'text-anchor': 'end'}, bytesText(most * share)));
  }
  const points = curveOf(stage, inner / lastTime);
  let base = 0;
  for (const name of categories.slice(0, 5)) {
    const bytes = stage[name].live_bytes;
    svg.append(element('rect', {x: chart.left, width: inner, y: y(base + bytes), height: Math.max(0, y(base) - y(base + bytes)), fill: color(name)}));
    base += bytes;
  }
  svg.append(element('path', {d: areaPath(points, x, y, () => base, (p) => base + p.activations), fill: color('activations')}));
  svg.append(element('path', {class: 'top', d: areaPath(points, x, y, (p) => base + p.activations, (p) => base + p.activations + p.scratch), fill: color('scratch')}));
  svg.append(element('line', {class: 'arena', x1: chart.left, x2: width - chart.right, y1: y(stage.arena_bytes), y2: y(stage.arena_bytes)}));
  const at = points.find((p) => p.entry === stage.peak.schedule_entry && p.instruction === stage.peak.instruction_index) ||
    points.find((p) => p.entry === stage.peak.schedule_entry);
  if (at) {
    const middle = +x((at.from + at.to) / 2), end = middle > width * .7;
    svg.append(element('circle', {class: 'peak', cx: middle, cy: y(stage.peak.bytes), r: 4}));
    svg.append(element('text', {class: 'peakText', x: middle + (end ? -9 : 9), y: +y(stage.peak.bytes) - 6, 'text-anchor': end ? 'end' : 'start'},
      `peak ${bytesText(stage.peak.bytes)}`));
  }
  drawGantt(svg, stage, x, bottom + 6);
  if (isSimulated)
    for (const [share, anchor] of [[0, 'start'], [.5, 'middle'], [1, 'end']])
      svg.append(element('text', {class: 'time', x: x(lastTime * share), y: bottom + chart.gantt + 20, 'text-anchor': anchor}, timeText(lastTime * share)));
  followPointer(svg, stage, points, width, inner, lastTime, base);
  return element('div', {class: 'chart'}, element('h3', {}, `stage ${stage.stage}`,
    element('span', {}, `${bytesText(stage.live_bytes)} live of ${bytesText(stage.arena_bytes)}, ratio ${(stage.arena_bytes / stage.live_bytes).toFixed(4)}`)), svg);
}

function drawGantt(svg, stage, x, top) {
  for (const [segment, microBatch, , , begin, end] of stage.timeline.entries) {
    const {kind, name} = stage.timeline.segments[segment], wide = x(end) - x(begin);
    svg.append(element('rect', {class: 'run', x: x(begin), y: top, width: Math.max(wide, .4), height: chart.gantt, fill: color(kind)},
      element('title', {}, `${name}${microBatch >= 0 ? ` of micro-batch ${microBatch}` : ''}`)));
    if (microBatch >= 0 && wide > 13)
      svg.append(element('text', {class: 'number', x: (+x(begin) + wide / 2).toFixed(2), y: top + 14}, String(microBatch)));
  }
}

function followPointer(svg, stage, points, width, inner, lastTime, resident) {
  const cursor = element('line', {class: 'cursor', y1: chart.top, y2: chart.top + chart.height, visibility: 'hidden'});
  svg.append(cursor);
  svg.onpointerleave = () => { byId('tip').hidden = true; cursor.setAttribute('visibility', 'hidden'); };
  svg.onpointermove = (event) => {
    const box = svg.getBoundingClientRect(), place = (event.clientX - box.left) * width / box.width;
    const time = (place - chart.left) / inner * lastTime;
    const point = points.find((p) => p.from <= time && time < p.to);
    if (!point) return svg.onpointerleave();
    cursor.setAttribute('x1', place); cursor.setAttribute('x2', place); cursor.setAttribute('visibility', 'visible');
    const entry = stage.timeline.entries[point.entry];
    const what = entry ? `${stage.timeline.segments[entry[0]].name}${entry[1] >= 0 ? ` of micro-batch ${entry[1]}` : ''}, ${entry[3]} in flight` : 'waits';
    const row = (name, bytes) => element('tr', {}, element('td', {}, element('i', {class: 'dot', style: `background:${color(name)}`}), name),
      element('td', {class: 'number'}, bytesText(bytes)));
    const tip = byId('tip');
    tip.replaceChildren(element('b', {}, `stage ${stage.stage}${isSimulated ? ` at ${timeText(time)}` : ''}: ${what}`), element('table', {},
      row('scratch', point.scratch), row('activations', point.activations), row('parameters', stage.parameters.live_bytes),
      row('gradients', stage.gradients.live_bytes), row('optimizer', stage.optimizer.live_bytes),
      row('communication', stage.communication.live_bytes), row('workspace', stage.workspace.live_bytes),
      element('tr', {}, element('td', {}, 'together'), element('td', {class: 'number'}, bytesText(resident + point.activations + point.scratch)))));
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8))}px`;
  };
}

function drawCharts() {
  const kinds = [...new Set(report.stages.flatMap((stage) => stage.timeline.segments.map((segment) => segment.kind)))];
  legend('runs', kinds);
  chart.height = report.stages.length > 8 ? 80 : 130;
  const width = Math.max(280, byId('charts').clientWidth);
  chart.left = width < 500 ? 54 : 62;
  const lastTime = Math.max(1, ...report.stages.flatMap((stage) => stage.timeline.entries.map((entry) => entry[5])));
  const most = Math.max(1, largestStage().arena_bytes) * 1.02;
  byId('charts').replaceChildren(...report.stages.map((stage) => drawChart(stage, width, lastTime, most)));
  if (isSimulated) byId('lengths').textContent = `those of a simulated step on ${report.device.name}, ${timeText(lastTime)} in all`;
}

// ---------------------------------------------------------------- what if

function drawWhatIf() {
  const lines = report.what_if || [], base = lines[0];
  byId('whatif').hidden = lines.length === 0;
  if (!base) return;
  const isTimed = base.step_seconds > 0; // with a cluster
  const header = ['change', 'largest stage', 'saved', ...(isTimed ? ['step, simulated'] : []), 'operations', 'sent, exposed', 'sent, overlapped'];
  const rows = lines.filter((line) => !line.refusal).map((line) => {
    const saved = base.arena_bytes - line.arena_bytes;
    const isBase = line === base;
    return element('tr', {'data-change': line.change}, element('td', {}, line.change),
      element('td', {class: 'number'}, bytesText(line.arena_bytes)),
      element('td', {class: `number ${saved > 0 ? 'good' : saved < 0 ? 'bad' : ''}`}, isBase ? '' : `${signedBytes(saved)} (${percentText(saved / base.arena_bytes, 0)})`),
      ...(isTimed ? [element('td', {class: 'number step'}, isBase ? timeText(1e9 * line.step_seconds) : percentText(line.step_seconds / base.step_seconds - 1, 1))] : []),
      element('td', {class: 'number'}, isBase ? line.flops.toExponential(3) : percentText((line.flops - base.flops) / (base.flops || 1), 1)),
      element('td', {class: 'number'}, isBase ? bytesText(line.sent_exposed_bytes) : signedBytes(line.sent_exposed_bytes - base.sent_exposed_bytes)),
      element('td', {class: 'number'}, isBase ? bytesText(line.sent_overlapped_bytes) : signedBytes(line.sent_overlapped_bytes - base.sent_overlapped_bytes)));
  });
  byId('whatifTable').replaceChildren(
    element('thead', {}, element('tr', {}, ...header.map((text, i) => element('th', {class: i ? 'number' : ''}, text)))),
    element('tbody', {}, ...rows));
  byId('refusals').replaceChildren(...lines.filter((line) => line.refusal).map((line) =>
    element('li', {}, `${line.change} is not possible: ${line.refusal}`)));
}

// ---------------------------------------------------------------- table

const table = {sort: 'bytes', descending: true, shown: 60};
const columns = {
  stage: {text: 'stage', isNumber: true}, layer: {text: 'layer'}, op: {text: 'op'}, name: {text: 'buffer'}, category: {text: 'category'},
  input_of: {text: 'input of', isWide: true}, line: {text: 'model line', isWide: true}, copies: {text: 'micro-batches', isNumber: true, isWide: true},
  bytes: {text: 'bytes', isNumber: true}, share: {text: 'share', isWide: true},
};
const columnsBy = {
  op: ['stage', 'category', 'op', 'input_of', 'line', 'bytes', 'share'], layer: ['stage', 'layer', 'category', 'bytes', 'share'],
  both: ['stage', 'layer', 'category', 'op', 'line', 'bytes', 'share'], category: ['stage', 'category', 'bytes', 'share'],
  buffer: ['stage', 'category', 'name', 'copies', 'input_of', 'line', 'bytes', 'share'],
};

function groupedRows(by, stageChoice, find) {
  const groups = new Map(), keys = columnsBy[by].filter((name) => name !== 'bytes' && name !== 'share');
  for (const stage of report.stages.filter((one) => stageChoice === 'all' || String(one.stage) === stageChoice))
    for (const item of stage.peak.live) {
      const row = {...item, stage: stage.stage, layer: item.layer || 'outside of layers', input_of: item.input_of || ''};
      if (find && !`${row.name} ${row.op} ${row.layer} ${row.category} ${row.input_of} ${row.line}`.toLowerCase().includes(find)) continue;
      const key = JSON.stringify(keys.map((name) => row[name]));
      const group = groups.get(key);
      if (group) group.bytes += row.bytes; else groups.set(key, row);
    }
  return [...groups.values()];
}

function compareRows(a, b) {
  const name = table.sort === 'share' ? 'bytes' : table.sort, sign = table.descending ? -1 : 1;
  const order = columns[name].isNumber ? a[name] - b[name] : String(a[name]).localeCompare(String(b[name]), undefined, {numeric: true});
  return sign * order || b.bytes - a.bytes;
}

function cellOf(name, row, most) {
  if (name === 'share') return element('td', {class: 'share wide'}, element('i', {class: 'share', style: `width:${Math.max(1, 150 * row.bytes / most)}px`}));
  const kind = `${columns[name].isNumber ? 'number' : ''} ${columns[name].isWide ? 'wide' : ''}`;
  if (name === 'bytes') return element('td', {class: kind, title: `${row.bytes} B`}, bytesText(row.bytes));
  if (name === 'category') return element('td', {class: kind}, element('i', {class: 'dot', style: `background:${color(row.category)}`}), row.category);
  return element('td', {class: kind}, String(row[name]));
}

function drawTable() {
  const by = byId('by').value, names = columnsBy[by];
  if (!names.includes(table.sort)) table.sort = 'bytes';
  const rows = groupedRows(by, byId('stage').value, byId('find').value.trim().toLowerCase()).sort(compareRows);
  const most = Math.max(1, ...rows.map((row) => row.bytes));
  const head = element('tr', {}, ...names.map((name) => {
    const cell = element('th', {class: `sortable ${columns[name].isNumber ? 'number' : ''} ${columns[name].isWide ? 'wide' : ''}`, 'data-column': name, scope: 'col'}, columns[name].text);
    if (name === table.sort) cell.setAttribute('aria-sort', table.descending ? 'descending' : 'ascending');
    cell.onclick = () => {
      table.descending = table.sort === name ? !table.descending : Boolean(columns[name].isNumber);
      table.sort = name;
      drawTable();
    };
    return cell;
  }));
  const shown = rows.slice(0, table.shown);
  byId('table').replaceChildren(element('thead', {}, head), element('tbody', {}, ...shown.map((row) =>
    element('tr', {'data-bytes': row.bytes}, ...names.map((name) => cellOf(name, row, most))))));
  byId('sum').textContent = `${rows.length} rows, ${bytesText(rows.reduce((sum, row) => sum + row.bytes, 0))}`;
  byId('more').hidden = rows.length <= table.shown;
  byId('more').textContent = `show all ${rows.length} rows`;
  return rows;
}

function chooseStage(stage) {
  byId('stage').value = stage;
  for (const bar of document.querySelectorAll('.bar')) bar.setAttribute('aria-pressed', String(bar.dataset.stage === stage));
  drawTable();
}

function setUpControls() {
  byId('stage').replaceChildren(element('option', {value: 'all'}, 'all'), ...report.stages.map((stage) => element('option', {value: stage.stage}, String(stage.stage))));
  byId('stage').onchange = () => chooseStage(byId('stage').value);
  byId('by').onchange = drawTable;
  byId('find').oninput = drawTable;
  byId('more').onclick = () => { table.shown = Infinity; drawTable(); };
  const root = document.documentElement;
  root.dataset.theme = location.hash === '#dark' || (location.hash !== '#light' && matchMedia('(prefers-color-scheme: dark)').matches) ? 'dark' : 'light';
  byId('theme').onclick = () => { root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark'; };
  addEventListener('resize', drawCharts);
}

// ---------------------------------------------------------------- self-check

/** What of the report does not hold together. */
function faultsOfReport(stage) {
  const faults = [], say = (text) => faults.push(`stage ${stage.stage}: ${text}`), line = stage.timeline;
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  let most = {bytes: line.entries.length ? -1 : line.resident_bytes};
  line.entries.forEach(([segment, , others], entry) => line.segments[segment].activation_bytes.forEach((bytes, instruction) => {
    const total = line.resident_bytes + others + bytes + line.segments[segment].scratch_bytes[instruction];
    if (total > most.bytes) most = {bytes: total, entry, instruction};
  }));
  if (most.bytes !== stage.peak.bytes) say(`the schedule peaks at ${most.bytes}, the report says ${stage.peak.bytes}`);
  if (most.entry !== undefined && (most.entry !== stage.peak.schedule_entry || most.instruction !== stage.peak.instruction_index)) say('the peak is at another moment');
  if (sum(stage.peak.live.map((item) => item.bytes)) !== stage.peak.bytes) say('what is live does not add up to the peak');
  for (const name of categories)
    if (sum(stage.peak.live.filter((item) => item.category === name).map((item) => item.bytes)) !== stage[name].live_bytes) say(`${name} does not add up`);
  if (sum(categories.map((name) => stage[name].bytes)) !== stage.arena_bytes) say('the categories do not add up to the arena');
  if (stage.arena_bytes < stage.live_bytes) say('the arena is smaller than what is live');
  return faults;
}

/** What of the drawing is not what the report says. */
function faultsOfPage() {
  const faults = [], charts = [...document.querySelectorAll('.chart svg')];
  if (charts.length !== report.stages.length) faults.push(`${charts.length} charts for ${report.stages.length} stages`);
  charts.forEach((svg, i) => {
    const stage = report.stages[i], circle = svg.querySelector('circle.peak'), top = svg.querySelector('path.top');
    const runs = svg.querySelectorAll('rect.run').length;
    if (runs !== stage.timeline.entries.length) faults.push(`stage ${stage.stage}: ${runs} runs drawn of ${stage.timeline.entries.length}`);
    const times = [...svg.querySelectorAll('text.time')].map((text) => text.textContent);
    if (times.length !== (isSimulated ? 3 : 0) || (isSimulated && times[0] !== '0 ns')) faults.push(`stage ${stage.stage}: the axis of time has ${times.join(', ')}`);
    if (!circle || !top) return faults.push(`stage ${stage.stage}: no curve or no peak`);
    const drawn = Math.min(...top.getAttribute('d').match(/-?[\d.]+,-?[\d.]+/g).map((pair) => +pair.split(',')[1]));
    if (Math.abs(drawn - circle.getAttribute('cy')) > .02) faults.push(`stage ${stage.stage}: the curve ends at ${drawn}, the peak is at ${circle.getAttribute('cy')}`);
  });
  const rows = groupedRows('op', 'all', '');
  const total = rows.reduce((sum, row) => sum + row.bytes, 0), live = report.stages.reduce((sum, stage) => sum + stage.live_bytes, 0);
  if (total !== live) faults.push(`the table has ${total} bytes, live are ${live}`);
  const shown = [...document.querySelectorAll('#table tbody tr')].map((row) => +row.dataset.bytes);
  if (shown.length === 0 || shown.some((bytes, i) => i > 0 && bytes > shown[i - 1])) faults.push('the table is not sorted by bytes');
  const timed = (report.what_if || []).filter((line) => line.step_seconds > 0), steps = [...document.querySelectorAll('#whatifTable td.step')];
  if (steps.length !== timed.length || (timed.length > 0 && steps[0].textContent !== timeText(1e9 * timed[0].step_seconds))) faults.push(`${steps.length} steps are shown of ${timed.length} that are simulated`);
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
  return faults;
}

/** What the pointer shows at the peak has every category. */
function faultsOfTip() {
  const svg = document.querySelector('.chart svg'), peak = svg && svg.querySelector('circle.peak');
  if (!peak) return [];
  const box = svg.getBoundingClientRect();
  svg.onpointermove({clientX: box.left + peak.getAttribute('cx') * box.width / svg.viewBox.baseVal.width, clientY: box.top});
  const names = [...document.querySelectorAll('#tip td:first-child')].map((cell) => cell.textContent);
  svg.onpointerleave();
  return categories.filter((name) => !names.includes(name)).map((name) => `the pointer does not show ${name}`);
}

/** Sorting turns round, and a stage alone has its own bytes. */
function faultsOfControls() {
  const faults = [], click = () => document.querySelector('#table th[data-column="bytes"]').click();
  click();
  const rising = [...document.querySelectorAll('#table tbody tr')].map((row) => +row.dataset.bytes);
  if (rising.some((bytes, i) => i > 0 && bytes < rising[i - 1])) faults.push('a click on bytes does not turn the order round');
  click();
  for (const stage of report.stages.slice(0, 1)) {
    document.querySelector(`.bar[data-stage="${stage.stage}"]`).click();
    const bytes = groupedRows('buffer', byId('stage').value, '').reduce((sum, row) => sum + row.bytes, 0);
    if (bytes !== stage.live_bytes) faults.push(`stage ${stage.stage} alone has ${bytes} bytes in the table`);
  }
  chooseStage('all');
  return faults;
}

function selfCheck() {
  const faults = [...report.stages.flatMap(faultsOfReport), ...faultsOfPage(), ...faultsOfTip(), ...faultsOfControls()];
  document.documentElement.dataset.selfCheck = faults.length === 0 ? 'passed' : faults.join('; ');
  if (faults.length > 0) document.body.prepend(element('div', {class: 'failed'}, `This page does not show its report: ${faults.join('; ')}`));
}

try {
  setUpControls();
  drawHead();
  drawBars();
  drawCharts();
  drawWhatIf();
  drawTable();
  selfCheck();
} catch (error) {
  document.documentElement.dataset.selfCheck = `error: ${error.message}`;
  throw error;
}
