package hunt

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// class names what kind of bug a finding is, by what is needed to reach it.
func (f *finding) class() string {
	d := f.first.disturbances
	switch {
	case f.verdict.swings != "":
		return "never at rest"
	case !f.verdict.differs():
		return f.verdict.conduct[0].class
	}
	switch d[len(d)-1].Action {
	case CrashBefore, CrashAfter:
		return "crash atomicity"
	case Conflict:
		return "conflict"
	case ServerError:
		return "failed write"
	case TooManyRequests, WebhookDenial, WebhookOutage, QuotaExceeded:
		return "refused write"
	case SlowAnswer:
		return "slow answer"
	case LateArrival:
		return "late write"
	case RepeatedEvents:
		return "repeated events"
	case LostAnswer:
		return "lost answer"
	case LateEvents:
		return "late events"
	case MissedEvents:
		return "missed events"
	case StaleRestart:
		return "stale view"
	case Edit:
		return "edit"
	case DeletePods:
		return "pods"
	case NodeLost:
		return "nodes"
	case Recreate:
		return "recreation"
	}
	return "unknown"
}

// report fails the test with the findings.
func (h *hunter) report(c *call) {
	h.t.Helper()
	for i, f := range h.findings {
		story := h.story(f)
		if h.tests {
			if file, err := h.writeTest(c, f); err != nil {
				story += fmt.Sprintf("\n  The test is not written: %v", err)
			} else {
				story += fmt.Sprintf("\n  %s does that.", file)
			}
		}
		h.t.Errorf("hunt: finding %d of %d: %s", i+1, len(h.findings), story)
	}
	h.t.Logf("hunt: %d writes of the operator, %d disturbed runs (in %d of them the write did not occur), %d findings", len(h.points), h.tried, h.unmet, len(h.findings))
}

const (
	maxDifferences = 12
	maxCalls       = 40
)

// story describes a finding.
func (h *hunter) story(f *finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.class())
	for _, d := range f.first.disturbances {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	b.WriteString(h.ending(f.verdict))
	fmt.Fprintf(&b, "  The operator's writes:%s\n", indented(clip(f.first.calls)))
	if i, differ := firstDivergence(f.first.calls, h.base.calls); differ {
		fmt.Fprintf(&b, "  Undisturbed, it goes on with:%s\n", indented(h.base.calls[i:min(i+3, len(h.base.calls))]))
	}
	if len(f.steps) < len(h.workload.Steps) {
		var names []string
		for _, s := range f.steps {
			names = append(names, fmt.Sprintf("%q", s.Name))
		}
		fmt.Fprintf(&b, "  These steps of the workload are enough: %s\n", strings.Join(names, ", "))
	}
	if f.runs > 1 {
		fmt.Fprintf(&b, "  %d of the runs end like this.\n", f.runs)
	}
	if !h.exact {
		fmt.Fprintf(&b, "  It came back in %d of %d repetitions.\n", f.cameBack, f.repeated)
	}
	if h.t == nil {
		return b.String()
	}
	b.WriteString("  Repeat it, and keep it as a test of the repair:\n    hunt.Replay(t, operator, workload, []string{\n")
	for _, d := range f.first.disturbances {
		fmt.Fprintf(&b, "    \t%q,\n", d)
	}
	b.WriteString("    })")
	return b.String()
}

// ending says what is wrong with the end of a run.
func (h *hunter) ending(v verdict) string {
	var b strings.Builder
	if v.failure != "" {
		fmt.Fprintf(&b, "  The run fails: %s\n", strings.ReplaceAll(v.failure, "\n", "\n    "))
	}
	if v.swings != "" {
		fmt.Fprintf(&b, "  The operator does not come to rest: %s\n", v.swings)
	}
	for _, m := range v.conduct {
		fmt.Fprintf(&b, "  The operator does what it does not do undisturbed: %s\n", m.text)
	}
	if len(v.differences) > 0 {
		b.WriteString("  The cluster ends in another state:\n")
		for i, d := range v.differences {
			if i == maxDifferences {
				fmt.Fprintf(&b, "    and %d more\n", len(v.differences)-i)
				break
			}
			fmt.Fprintf(&b, "    %s\n", d)
		}
	}
	return b.String()
}

// firstDivergence returns the number of the first successful undisturbed call, from the first disturbed one on, that the disturbed run does
// not make.
func firstDivergence(disturbed, base []Call) (i int, differ bool) {
	from := 0
	if met := slices.IndexFunc(disturbed, func(c Call) bool { return c.What != "" && c.Point != (Point{}) }); met >= 0 {
		from = max(slices.IndexFunc(base, func(c Call) bool { return c.Point == disturbed[met].Point }), 0)
	}
	for i := from; i < len(base); i++ {
		call := base[i]
		if call.Code < http.StatusBadRequest && !slices.ContainsFunc(disturbed, func(other Call) bool {
			return other.Point == call.Point && other.Code != 0 && other.Code < http.StatusBadRequest
		}) {
			return i, true
		}
	}
	return 0, false
}

// clip returns the calls around the first disturbance, if there are many.
func clip(calls []Call) []Call {
	i := slices.IndexFunc(calls, func(c Call) bool { return c.What != "" })
	return around(calls, max(i, 0))
}

func around(calls []Call, i int) []Call {
	begin := max(min(i-maxCalls/4, len(calls)-maxCalls), 0)
	return calls[begin:min(begin+maxCalls, len(calls))]
}

// lastWrites returns the end of a run that failed; empty if the operator has not written.
func lastWrites(calls []Call) string {
	if len(calls) == 0 {
		return ""
	}
	return "\n  The operator's last writes:" + indented(calls[max(len(calls)-10, 0):])
}

func indented(calls []Call) string {
	if len(calls) == 0 {
		return " none"
	}
	var b strings.Builder
	for _, call := range calls {
		b.WriteString("\n    " + call.String())
	}
	return b.String()
}
