import { useState } from "preact/hooks";
import type { ScenarioFailure, ScenarioReport } from "../../client/typescript/minikcm.ts";
import { download, openPage } from "./download.ts";
import { differing, mark, reportPage, type Run, summary } from "./scenarios.ts";
import { clockTime, duration } from "./words.ts";
import { say } from "./language.ts";

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
    <section class="report" aria-label={say("report")}>
      <h3>{say("report")}</h3>
      <p>
        {summary(of)} {say("itTook", { cluster: duration(of.clusterSeconds * 1000), real: duration(of.realSeconds * 1000) })}
      </p>
      {of.page && (
        <p>
          <button type="button" disabled={busy} onClick={() => act(openPage)}>
            {say("openTheFullReport")}
          </button>{" "}
          <button type="button" disabled={busy} onClick={() => act((page) => download(`${run.scenario}-${run.id}.html`, page))}>
            {say("downloadIt")}
          </button>{" "}
          <span class="dim">{say("oneHtmlFileWith")}</span>
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
      <h4>{say("checks")}</h4>
      <ul class="steps" aria-label={say("checks")}>
        {of.checks.map((c, i) => (
          <li key={i} class={{ Passed: "Done", Failed: "Failed", Stopped: "Skipped" }[c.state]}>
            <span aria-label={say(`state_${c.state}`)}>{mark(({ Passed: "Done", Failed: "Failed", Stopped: "Skipped" } as const)[c.state])}</span> {c.title}{" "}
            <span class="dim">
              {clockTime(Date.parse(c.since))}
              {say("comma")}
              {c.until ? say(c.state === "Passed" ? "passedAfter" : "failedAfter", { time: duration(Date.parse(c.until) - Date.parse(c.since)) }) : say("theRunEndedFirst")}
            </span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="dim">{say("andNotListed", { n: more })}</p>}
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
        <span class="dim">{clockTime(Date.parse(failure.time))}</span> {failure.expected || say("theRun")} <span class="bad">{say("failedWord")}</span>
      </h4>
      <p class="text">{failure.found}</p>
      {fields.length > 0 && (
        <table class="rows">
          <thead>
            <tr>
              <th>{say("field")}</th>
              <th>{say("expected")}</th>
              <th>{say("thereWas")}</th>
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
      {failure.forgottenDiffers ? <p class="dim">{say("andMoreDifferences", { n: failure.forgottenDiffers })}</p> : null}
      {failure.causes?.map((c, i) => (
        <details key={i} open={i === 0}>
          <summary>{say("whyWord")}</summary>
          <pre tabIndex={0}>{c.trim()}</pre>
        </details>
      ))}
    </article>
  );
}
