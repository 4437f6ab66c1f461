import { useEffect, useState } from "preact/hooks";
import { useChanges } from "./changes.ts";
import type { Faults } from "./faults.ts";
import { language, say } from "./language.ts";
import { createFrom } from "./object/create.tsx";
import { Command } from "./object/parts.tsx";
import { collectionPath } from "./objectref.ts";
import { toYaml } from "./printyaml.ts";
import { findKind, useList } from "./reading.ts";
import type { Kind } from "./kinds.ts";
import { begin, type Check, type Do, holds, paragraphs, readTours, type Tour, type TourGuide, wants } from "./tours.ts";

/** TourButton opens the list of tours. */
export function TourButton({ guide }: { guide: TourGuide }) {
  return (
    <button type="button" onClick={() => guide.go()}>
      {say("tours")}
    </button>
  );
}

/** TourPanel shows the step of a tour beside the view. */
export function TourPanel({ guide, faults, report }: { guide: TourGuide; faults: Faults; report: (error: unknown) => void }) {
  useChanges(guide);
  const [tours, set] = useState<Tour[]>();
  useEffect(() => {
    if (guide.open && !tours) readTours().then(set, report);
  }, [guide.open]);
  if (!guide.open || !tours) return null;
  const at = tours.findIndex((t) => t.name === guide.name);
  const tour = tours[at];
  return (
    <aside class="tour" aria-label={say("tours")}>
      <div class="head">
        <h2>{tour ? tour.description[language()] : say("tours")}</h2>
        <button type="button" class="close" aria-label={say("endTheTour")} title={say("endTheTour")} onClick={() => guide.close()}>
          ×
        </button>
      </div>
      {tour ? <Step key={`${tour.name} ${guide.step}`} tour={tour} next={tours[at + 1]} guide={guide} faults={faults} /> : <List tours={tours} guide={guide} />}
    </aside>
  );
}

function List({ tours, guide }: { tours: Tour[]; guide: TourGuide }) {
  return (
    <>
      <p class="dim">{say("toursHint")}</p>
      <ul class="plain">
        {tours.map((t) => (
          <li key={t.name}>
            <button type="button" onClick={() => guide.go(t.name)}>
              {t.description[language()]}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function Step({ tour, next, guide, faults }: { tour: Tour; next: Tour | undefined; guide: TourGuide; faults: Faults }) {
  const step = tour.steps[guide.step] ?? tour.steps[0]!;
  const last = guide.step >= tour.steps.length - 1;
  const keys = (step.do ?? []).map((d, i) => (d.check ? `${guide.step} ${i}` : "")).filter(Boolean);
  const done = keys.filter((k) => guide.seen.get(k)?.done).length;
  return (
    <>
      <p class="dim">{say("stepOf", { n: guide.step + 1, all: tour.steps.length })}</p>
      {paragraphs(step.say[language()]).map((p, i) => (p.code ? <pre key={i}>{p.text}</pre> : <p key={i}>{p.text}</p>))}
      {step.do && step.do.length > 0 && (
        <section class="yourself" aria-label={say("tryItYourself")}>
          <h3>{say("tryItYourself")}</h3>
          <ol class="plain">
            {step.do.map((d, i) => (
              <Item key={i} item={d} id={`${guide.step} ${i}`} before={keys.slice(0, keys.indexOf(`${guide.step} ${i}`))} guide={guide} faults={faults} />
            ))}
          </ol>
        </section>
      )}
      <p class="buttons">
        <button type="button" disabled={guide.step === 0} onClick={() => guide.go(tour.name, guide.step - 1)}>
          {say("backButton")}
        </button>
        {!last && (
          <button type="button" class={done === keys.length ? "primary" : ""} onClick={() => guide.go(tour.name, guide.step + 1)}>
            {say("nextButton")}
          </button>
        )}
        <button type="button" onClick={() => guide.go()}>
          {say("allTours")}
        </button>
      </p>
      {last && next && (
        <p>
          <button type="button" class={done === keys.length ? "primary" : ""} onClick={() => guide.go(next.name)}>
            {say("nextTour", { tour: next.description[language()] })}
          </button>
        </p>
      )}
    </>
  );
}

function Item({ item, id, before, guide, faults }: { item: Do; id: string; before: string[]; guide: TourGuide; faults: Faults }) {
  return (
    <li>
      {item.command && <Command text={item.command} />}
      {item.objects && (
        <button type="button" onClick={() => createFrom(item.objects!.map((o) => toYaml(o)).join("---\n"))}>
          {say("openInTheForm")}
        </button>
      )}
      {item.check && <Checked check={item.check} id={id} before={before} guide={guide} faults={faults} />}
    </li>
  );
}

/** Checked follows the objects of a check, and marks it when they are as it wants, after those before it. */
function Checked({ check, id, before, guide, faults }: { check: Check; id: string; before: string[]; guide: TourGuide; faults: Faults }) {
  useChanges(faults);
  const [word = "", name] = check.target.split("/");
  const ofFault = check.for.startsWith("fault=");
  const [kind, setKind] = useState<Kind>();
  useEffect(() => {
    if (!ofFault) findKind((k) => k.name === word || k.kind.toLowerCase() === word).then(setKind, () => {});
  }, [word]);
  const query = name ? `fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}` : `labelSelector=${encodeURIComponent(check.selector ?? "")}`;
  const { items, complete } = useList(kind ? collectionPath(kind, kind.namespaced ? "default" : "") : undefined, query);
  const known = ofFault ? faults.known : complete;
  const found = { objects: items.map((o) => ({ ...o, kind: kind?.kind ?? "" })), faults: faults.items };
  const seen = guide.seen.get(id);
  const ready = before.every((b) => guide.seen.get(b)?.done);
  useEffect(() => {
    if (!known) return;
    if (!seen) guide.begin(id, begin(check, found));
    else if (ready && holds(check, found, seen)) guide.done(id);
  });
  const done = seen?.done ?? false;
  return (
    <p class={done ? "done" : "open"} role="status">
      <span aria-label={say(done ? "state_Done" : "state_Waiting")}>{done ? "✓" : "○"}</span> {wants(check)}
    </p>
  );
}
