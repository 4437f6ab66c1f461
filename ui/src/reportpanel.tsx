import { useState } from "preact/hooks";
import type { ScenarioFailure, ScenarioReport } from "../../client/typescript/minikcm.ts";
import { download, openPage } from "./download.ts";
import { differing, mark, reportPage, type Run, summary } from "./scenarios.ts";
import { clockTime, duration } from "./words.ts";

/** ReportPanel shows what a run that is over led to, and offers its report as a page. */
export function ReportPanel({ run, of, report }: { run: Run; of: ScenarioReport; report: (error: unknown) => void }) {
  const [busy, setBusy] = useState(false);
  const act = (what: (page: Blob) => void) => {
    setBusy(true);
    void reportPage(run.id)
      .then(what)
      .catch(report)
      .finally(() => setBusy(false));
  };
  return (
    <section class="report" aria-label="Report">
      <h3>Report</h3>
      <p>
        {summary(of)} It took {duration(of.clusterSeconds * 1000)} of the cluster's time and {duration(of.realSeconds * 1000)} of real time.
      </p>
      {of.page && (
        <p>
          <button type="button" disabled={busy} onClick={() => act(openPage)}>
            Open the full report
          </button>{" "}
          <button type="button" disabled={busy} onClick={() => act((page) => download(`${run.scenario}-${run.id}.html`, page))}>
            Download it
          </button>{" "}
          <span class="dim">One HTML file with plots, events and the timeline.</span>
        </p>
      )}
      {of.failures?.map((f, i) => <FailureItem key={i} failure={f} />)}
      {of.checks.length > 0 && <Checks of={of} />}
    </section>
  );
}

function Checks({ of }: { of: ScenarioReport }) {
  const more = of.passed + of.failed - of.checks.length;
  return (
    <>
      <h4>Checks</h4>
      <ul class="steps" aria-label="Checks">
        {of.checks.map((c, i) => (
          <li key={i} class={{ Passed: "Done", Failed: "Failed", Stopped: "Skipped" }[c.state]}>
            <span aria-label={c.state}>{mark(({ Passed: "Done", Failed: "Failed", Stopped: "Skipped" } as const)[c.state])}</span> {c.title}{" "}
            <span class="dim">
              {clockTime(Date.parse(c.since))}
              {c.until ? `, ${c.state === "Passed" ? "passed" : "failed"} after ${duration(Date.parse(c.until) - Date.parse(c.since))}` : ", the run ended first"}
            </span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="dim">and {more} that are not listed</p>}
    </>
  );
}

/** FailureItem shows what was expected and what was there, and the writes that led to it. */
function FailureItem({ failure }: { failure: ScenarioFailure }) {
  const parts = failure.differs?.map((line) => ({ line, part: differing(line) })) ?? [];
  const fields = parts.flatMap(({ part }) => (part ? [part] : []));
  const others = parts.filter(({ part }) => !part);
  return (
    <article class="failure">
      <h4>
        <span class="dim">{clockTime(Date.parse(failure.time))}</span> {failure.expected || "The run"} <span class="bad">failed</span>
      </h4>
      <p class="text">{failure.found}</p>
      {fields.length > 0 && (
        <table class="rows">
          <thead>
            <tr>
              <th>Field</th>
              <th>Expected</th>
              <th>There was</th>
            </tr>
          </thead>
          <tbody>
            {fields.map((f, i) => (
              <tr key={i}>
                <td>{f.field}</td>
                <td>{f.expected}</td>
                <td class="bad">{f.found}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {others.length > 0 && <pre>{others.map(({ line }) => line).join("\n")}</pre>}
      {failure.forgottenDiffers ? <p class="dim">and {failure.forgottenDiffers} more differences</p> : null}
      {failure.causes?.map((c, i) => (
        <details key={i} open={i === 0}>
          <summary>Why</summary>
          <pre tabIndex={0}>{c.trim()}</pre>
        </details>
      ))}
    </article>
  );
}
