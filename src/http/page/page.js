// SPDX-License-Identifier: Apache-2.0
// Shows the facts that /events sends. All text goes in as text, so that no command line can become markup.
"use strict";

const KEPT = 300, SERIES = 6;    // points of a chart, one a second; programs that have a line of their own
const $ = id => document.getElementById(id);
let before = null, estimates = false;
const rows = new Map(), shareHistory = [], latencyHistory = [];
const colors = new Map(); // the number of a program's colour, by session

function element(name, text, className) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
}

function set(e, text) {
    if (e.textContent !== String(text)) e.textContent = text;
}

function definitions(pairs) {
    return pairs.map(([name, value]) => {
        const div = element("div");
        div.append(element("dt", name), element("dd", value));
        return div;
    });
}

const percent = part => (100 * Math.max(part, 0)).toFixed(part > 0 && part < 0.0995 ? 1 : 0) + " %";
const about = part => (estimates && part > 0 ? "≈ " : "") + percent(part);

function bytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
    return n.toFixed(n < 10 && i ? 1 : 0) + " " + units[i];
}

// Of microseconds, in three digits.
function duration(us) {
    const units = ["µs", "ms", "s"];
    let i = 0;
    for (; us >= 999.5 && i < units.length - 1; i++) us /= 1000;
    return (us < 0.001 ? 0 : us < 1000 ? Number(us.toPrecision(3)) : Math.round(us)) + " " + units[i];
}

const kinds = ["Device", "CPU", "GPU", "NPU", "FPGA", "ASIC", "MCA"];
function deviceName(d) {
    const kind = kinds[Math.floor(d.device / 4294967296)] || kinds[0];
    return `${kind} ${d.gpu}${d.model ? " " + d.model : ""}`;
}

// ---- from two events to rates ----

// Device time of each queue and program in the interval. Programs can report more than the time that passed, if their
// threads wait for a CPU: then this scales their shares to it, and the page calls them estimates.
function rates(now) {
    const us = before ? now.status.uptime_us - before.status.uptime_us : 0;
    const old = new Map(before ? before.programs.map(p => [p.session, p]) : []);
    const ofDevice = new Map(), shares = new Map();
    estimates = false;
    for (const p of now.programs) {
        const o = old.get(p.session), oldQueues = new Map(o ? o.shown_queues.map(q => [q.handle, q]) : []);
        const its = {share: 0, devices: new Map()};
        p.gathers = o && p.gathered_us > o.gathered_us;
        its.waiting = o && us > 0 ? (p.waiting_us - o.waiting_us) / us : 0;
        for (const q of p.shown_queues) {
            const oq = oldQueues.get(q.handle);
            const share = oq && us > 0 ? Math.max(q.service_us - oq.service_us, 0) / us : 0;
            its.devices.set(q.device, (its.devices.get(q.device) || 0) + share);
            ofDevice.set(q.device, (ofDevice.get(q.device) || 0) + share);
        }
        shares.set(p.session, its);
    }
    for (const its of shares.values()) {
        for (const [device, share] of its.devices) {
            const sum = ofDevice.get(device);
            its.devices.set(device, sum > 1 ? share / sum : share);
            its.share += its.devices.get(device);
        }
    }
    for (const [device, sum] of ofDevice) {
        estimates = estimates || sum > 1.02;
        ofDevice.set(device, Math.min(sum, 1));
    }
    return {shares, ofDevice};
}

// Mean and 99th percentile of the times that a histogram counted since the last event, in microseconds. Others than operators get none.
function latencyOf(now, then) {
    if (!now) return [null, null];
    const counts = now.buckets.map((b, i) => b.count - (then ? then.buckets[i].count : 0));
    const sum = counts.reduce((a, b) => a + b, 0);
    if (!sum || !then) return [null, null];
    let seen = 0, p99 = null;
    for (let i = 0; i < counts.length && p99 === null; i++) {
        seen += counts[i];
        if (seen >= 0.99 * sum) p99 = (now.buckets[i].below_ns || now.max_ns) / 1000;
    }
    return [(now.count * now.mean_ns - then.count * then.mean_ns) / (now.count - then.count) / 1000, p99];
}

// ---- why a program stands where it does ----

function laneText(q) {
    return q.reserve ? `${q.lane} of ${q.lane + q.reserve} multiprocessors` : `${q.lane} multiprocessors`;
}

function besideText(p) {
    const q = p.shown_queues.find(o => o.state === "beside");
    return "a more important one" + (q ? `, on ${laneText(q)}` : "");
}

function why(p, now) {
    if (p.state === "held")
        return p.held_for_us ? `suspended by a user, for ${(p.held_for_us / 1e6).toFixed(0)} s more` : "suspended by a user";
    if (p.state === "idle") return p.queues ? "has no work" : "has no queue yet";
    if (p.state === "run") return p.gathers ? "its commands gather, and others compute meanwhile" : "";
    if (p.state === "beside") return besideText(p);
    if (p.priority <= -256) return "priority -256 never runs";
    const devices = new Set(p.shown_queues.map(q => q.device));
    const first = now.programs.filter(o => o.session !== p.session && o.state === "run" &&
        o.shown_queues.some(q => q.state === "run" && devices.has(q.device))).sort((a, b) => b.priority - a.priority)[0];
    if (first && first.priority > p.priority) return `PID ${first.pid} is more urgent (priority ${first.priority})`;
    return first ? `PID ${first.pid} has its turn (${now.status.policy_name})` : `waits for its turn (${now.status.policy_name})`;
}

// ---- sums, devices, programs ----

function showSums(now) {
    const s = now.status;
    const pairs = [["Policy", s.policy_name], ["Programs", now.programs.length], ["Queues running", now.queues.running],
        ["beside", now.queues.beside], ["waiting", now.queues.waiting], ["idle", now.queues.idle]];
    if (s.whole_server) pairs.push(["Decisions", s.decisions], ["Refused", s.refused]);
    if (s.whole_server && s.decision_latency.count > 0) pairs.push(["Mean decision", duration(s.decision_latency.mean_ns / 1000)]);
    $("sums").replaceChildren(...definitions(pairs));
}

function showDevices(now, ofDevice) {
    $("devices").replaceChildren(...now.devices.map(d => {
        const li = element("li"), pairs = [["In use", about(ofDevice.get(d.device) || 0)], ["Queues", d.queues], ["Waiting", d.waiting]];
        if (d.memory_bytes !== undefined)
            pairs.push(["Memory", (d.memory_used_bytes !== undefined ? bytes(d.memory_used_bytes) + " of " : "") + bytes(d.memory_bytes)]);
        if (d.temperature_c !== undefined) pairs.push(["Temperature", d.temperature_c + " °C"]);
        if (d.clock_mhz !== undefined) pairs.push(["Clock", d.clock_mhz + " MHz"]);
        if (d.pci) pairs.push(["Address", d.pci]);
        const dl = element("dl");
        dl.append(...definitions(pairs));
        li.append(element("h3", deviceName(d)), dl);
        return li;
    }));
    $("no-device").hidden = now.devices.length > 0;
}

const columns = [["pid", "PID", "n"], ["program", "Program", "program"], ["user", "User", ""], ["state", "State", ""],
    ["shares", "Shares in", ""],
    ["priority", "Priority", "n"], ["level", "Level", "n"], ["share", "Share", ""], ["waiting", "Waiting", "n"],
    ["preempted", "Preempted", "n"], ["memory", "Memory", ""], ["queues", "Queues", ""]];

function newRow() {
    const row = {tr: element("tr")};
    for (const [name, label, className] of columns) {
        row[name] = element("td", undefined, className);
        row[name].dataset.label = label;
        row.tr.append(row[name]);
    }
    row.stateText = element("span");
    row.whyText = element("span", "", "why");
    row.state.append(row.stateText, row.whyText);
    row.meter = element("meter");
    row.shareText = element("span");
    row.share.append(row.meter, " ", row.shareText);
    row.details = element("details");
    row.summary = element("summary");
    row.list = element("ul");
    row.details.append(row.summary, row.list);
    row.queues.append(row.details);
    return row;
}

const states = {run: "running", beside: "beside", wait: "waiting", idle: "idle", held: "suspended"};
function showProgram(row, p, its, now) {
    const names = new Map(now.devices.map(d => [d.device, deviceName(d)]));
    set(row.pid, p.pid);
    set(row.program, p.cmdline);
    set(row.user, p.user);
    set(row.stateText, states[p.state]);
    row.stateText.className = p.state;
    set(row.whyText, why(p, now));
    set(row.shares, p.share);
    set(row.priority, p.queues ? p.priority : "-");
    set(row.level, p.queues ? p.level : "-");
    row.meter.value = Math.min(its.share, 1);
    row.meter.setAttribute("aria-label", `share of PID ${p.pid}`);
    set(row.shareText, about(its.share) + (p.utilization >= 0 && p.utilization < 100 ? ` of ${p.utilization} % asked` : ""));
    set(row.waiting, percent(its.waiting));
    set(row.preempted, p.preemptions);
    set(row.memory, p.memory_limit_bytes ? `${bytes(p.memory_used_bytes)} of ${bytes(p.memory_limit_bytes)}` : "-");
    set(row.summary, p.queues === 1 ? "1 queue" : `${p.queues} queues`);
    const lines = p.shown_queues.map(q => `0x${BigInt(q.handle).toString(16)} on ${names.get(q.device) || "another device"}: ` +
        `${states[q.state]}${q.state === "beside" ? " on " + laneText(q) : ""}, priority ${q.priority}, level ${q.level}`);
    if (p.queues > p.shown_queues.length) lines.push(`and ${p.queues - p.shown_queues.length} more`);
    if (lines.join("\n") !== row.lines) row.list.replaceChildren(...lines.map(l => element("li", l)));
    row.lines = lines.join("\n");
}

function showPrograms(now, shares) {
    const body = $("programs"), seen = new Set();
    for (const p of now.programs) {
        if (!rows.has(p.session)) {
            rows.set(p.session, newRow());
            body.append(rows.get(p.session).tr);
        }
        showProgram(rows.get(p.session), p, shares.get(p.session), now);
        seen.add(p.session);
    }
    for (const [session, row] of rows) {
        if (seen.has(session)) continue;
        row.tr.remove();
        rows.delete(session);
    }
    $("none").hidden = now.programs.length > 0;
    $("more").hidden = !now.more;
    $("estimate").hidden = !estimates;
}

// ---- charts ----

// The library's legend writes styles into markup, which this page's policy refuses; the keys below the charts are ours.
if (window.Dygraph) Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);

const charts = {};
function color(i) {
    return getComputedStyle(document.documentElement).getPropertyValue("--s" + i).trim();
}

// Names of lines are numbers: the library puts them into the page as markup. A line is a name and the number of its colour.
function draw(id, points, lines, most, format) {
    const blank = lines.map(() => null);
    const data = points.length > 1 ? points : [[new Date(Date.now() - 1000), ...blank], [new Date(), ...blank]];
    const options = {file: data, labels: ["time", ...lines.map((_, i) => "line" + i)], colors: lines.map(l => color(l.color)),
        dateWindow: [Date.now() - KEPT * 1000, Date.now()], valueRange: [0, most], axisLineColor: color(SERIES), gridLineColor: color(SERIES) + "44"};
    if (!charts[id])
        charts[id] = new Dygraph($(id), data, {...options, interactionModel: {}, strokeWidth: 2,
            axes: {x: {axisLabelWidth: 66}, y: {axisLabelWidth: 58, axisLabelFormatter: format}}});
    else
        charts[id].updateOptions(options);
    $(id + "-keys").replaceChildren(...lines.map(l => element("li", l.name, "c" + l.color)));
}

// One number for the same command line each time, so that a program that starts anew has its colour again.
function wish(text) {
    let n = 0;
    for (const c of text) n = (n * 31 + c.codePointAt(0)) % 65521;
    return n % SERIES;
}

// A program keeps its colour while it is there. One that needs a line and has none, or whose colour another line has now, takes
// the next one that no line has.
function giveColors(programs) {
    const taken = new Set();
    for (const p of [...programs].sort((a, b) => colors.has(b.session) - colors.has(a.session) || a.session - b.session)) {
        let n = colors.has(p.session) ? colors.get(p.session) : wish(p.cmdline);
        while (taken.has(n)) n = (n + 1) % SERIES;
        taken.add(n);
        colors.set(p.session, n);
    }
}

function forgetColors(programs) {
    const there = new Set(programs.map(p => p.session));
    for (const session of colors.keys()) if (!there.has(session)) colors.delete(session);
}

// The first event has the points until now. Programs that are gone, and those of which it has no line, are others.
function takeHistory(points) {
    shareHistory.length = latencyHistory.length = 0;
    for (const p of points) {
        const time = new Date(Date.now() - p.ago_us / 1000), of = new Map(p.programs.map(([session, millis]) => [session, millis / 1000]));
        if (p.others) of.set(0, p.others / 1000);
        shareHistory.push({time, of});
        latencyHistory.push(p.mean_ns ? [time, p.mean_ns / 1000, p.p99_ns / 1000] : [time, null, null]);
    }
}

// The values that nearly all points have decide how high a chart is: one late decision would make all others a flat line.
// @return the height, and the values above it
function heightOf(points) {
    const values = points.flatMap(p => p.slice(1)).filter(v => v !== null).sort((a, b) => a - b);
    const most = values.length ? values[values.length - 1] : 1, usual = values.length ? values[Math.floor(0.95 * (values.length - 1))] : 1;
    const height = Math.min(most, 3 * usual);
    return {height: height * 1.05, above: values.filter(v => v > height * 1.05), most};
}

function showLatencies(d) {
    $("latencies-figure").hidden = !d || d.count === 0;
    if (!d || !d.count) return;
    const {height, above, most} = heightOf(latencyHistory), last = latencyHistory[latencyHistory.length - 1];
    draw("latencies", latencyHistory.map(p => p.map(v => typeof v === "number" ? Math.min(v, height) : v)),
        [{name: "mean", color: 0}, {name: "99 of 100 below", color: 1}], height, duration);
    $("latencies-cut").hidden = above.length === 0;
    set($("latencies-cut"), `Cut off at the top: ${above.length} ${above.length === 1 ? "value" : "values"} up to ${duration(most)}.`);
    set($("latencies-text"), !last || last[1] === null ? "none in the last second" : `mean ${duration(last[1])}, 99 of 100 below ${duration(last[2])}`);
}

function showCharts(now, shares) {
    if (!window.Dygraph) {
        $("charts").hidden = true;
        $("no-charts").hidden = false;
        return;
    }
    const time = new Date(), d = now.status.decision_latency;
    if (now.history) takeHistory(now.history);
    if (before) {
        shareHistory.push({time, of: new Map(now.programs.map(p => [p.session, shares.get(p.session).share]))});
        latencyHistory.push([time, ...latencyOf(d, before.status.decision_latency)]);
    }
    while (shareHistory.length > KEPT) shareHistory.shift();
    while (latencyHistory.length > KEPT) latencyHistory.shift();
    const sums = new Map(now.programs.map(p => [p.session, 0]));
    for (const point of shareHistory)
        for (const [session, share] of point.of)
            if (sums.has(session)) sums.set(session, sums.get(session) + share);
    const top = [...now.programs].sort((a, b) => sums.get(b.session) - sums.get(a.session) || a.session - b.session).slice(0, SERIES)
        .sort((a, b) => a.session - b.session);
    forgetColors(now.programs);
    giveColors(top);
    const lines = [...top.map(p => ({name: `${p.pid} ${p.cmdline}`, color: colors.get(p.session)})), {name: "others", color: SERIES}];
    draw("shares", shareHistory.map(point => {
        const own = top.map(p => point.of.has(p.session) ? 100 * point.of.get(p.session) : null);
        let all = 0;
        for (const share of point.of.values()) all += 100 * share;
        return [point.time, ...own, Math.max(all - own.reduce((a, b) => a + (b || 0), 0), 0)];
    }), lines, Math.max(100, 100 * now.devices.length) * 1.05, v => v + " %");
    set($("shares-text"), top.map(p => `${p.cmdline}: ${about(shares.get(p.session).share)}`).join(", ") || "no program");
    showLatencies(d);
}

const state = $("state");
let events;

function show(event) {
    const now = JSON.parse(event.data), {shares, ofDevice} = rates(now);
    showSums(now);
    showDevices(now, ofDevice);
    showPrograms(now, shares);
    showCharts(now, shares);
    before = now;
    set(state, "version " + now.status.version);
    state.className = "";
}

/* The browser connects again by itself when a connection ends, but not when the answer was an error. */
function watch() {
    events = new EventSource("/events");
    events.onmessage = show;
    events.onerror = () => {
        set(state, "xserver does not answer");
        state.className = "gone";
        before = null;
        if (events.readyState === EventSource.CLOSED)
            setTimeout(watch, 3000);
    };
}

watch();
