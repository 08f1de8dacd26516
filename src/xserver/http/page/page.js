// SPDX-License-Identifier: Apache-2.0
// Shows what /events sends. All text goes in as text, so that no command line can become markup.
"use strict";

let before = null;

function cell(row, text, kind) {
    const td = row.insertCell();
    td.textContent = text;
    if (kind) td.className = kind;
    return td;
}

function percent(part) {
    return (100 * Math.max(part, 0)).toFixed(part > 0 && part < 0.0995 ? 1 : 0);
}

function showSums(now) {
    const s = now.status, sums = document.getElementById("sums");
    const latency = s.decision_latency;
    const rows = [["Policy", s.policy_name], ["Programs", now.programs.length],
        ["Queues running", now.queues.running], ["waiting", now.queues.waiting], ["idle", now.queues.idle],
        ["Decisions", s.decisions], ["Mean decision", (latency.mean_ns / 1000).toFixed(1) + " µs"],
        ["Refused", s.refused]];
    sums.replaceChildren(...rows.map(([name, value]) => {
        const div = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
        dt.textContent = name;
        dd.textContent = value;
        div.append(dt, dd);
        return div;
    }));
}

function showPrograms(now) {
    const body = document.createElement("tbody");
    const old = new Map(before ? before.programs.map(p => [p.session, p]) : []);
    const us = before ? now.status.uptime_us - before.status.uptime_us : 0;
    body.id = "programs";
    for (const p of now.programs) {
        const o = old.get(p.session), row = body.insertRow();
        const share = o && us > 0 ? (p.service_us - o.service_us) / us : 0;
        const waiting = o && us > 0 ? (p.waiting_us - o.waiting_us) / us : 0;
        const rate = o && us > 0 ? (p.commands - o.commands) * 1e6 / us : 0;
        cell(row, p.pid, "n");
        cell(row, p.state, p.state);
        cell(row, p.queues ? p.priority : "", "n");
        cell(row, p.queues ? p.level : "", "n");
        cell(row, percent(share), "n");
        const meter = document.createElement("meter");
        meter.value = Math.min(Math.max(share, 0), 1);
        cell(row, "", "bar").append(meter);
        cell(row, percent(waiting), "n");
        cell(row, p.preemptions, "n");
        cell(row, rate.toFixed(0), "n");
        cell(row, p.queues, "n");
        cell(row, p.cmdline).title = p.cmdline;
    }
    document.getElementById("programs").replaceWith(body);
    document.getElementById("none").hidden = now.programs.length > 0;
}

const events = new EventSource("/events");
const state = document.getElementById("state");
events.onmessage = event => {
    const now = JSON.parse(event.data);
    showSums(now);
    showPrograms(now);
    before = now;
    state.textContent = "version " + now.status.version;
    state.className = "";
};
events.onerror = () => {
    state.textContent = "xserver does not answer";
    state.className = "gone";
    before = null;
};
