package hunt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// Binary is an operator that is a program of this machine, and the scenario in which it is hunted.
type Binary struct {
	// Command is the program with its arguments. It gets KUBECONFIG.
	Command []string
	// Scenario is a file as for ScenarioFile, and Set has values of its variables.
	Scenario string
	Set      map[string]string
	// Seed, Trials and Parallel are as the options of Run.
	Seed     uint64
	Trials   int
	Parallel int
	// Budget is the machine's time after which no run begins any more. Shrinking and repeating what was found comes after it.
	Budget time.Duration
	// Repeats is how often each finding is repeated.
	Repeats int
	// Replay are the disturbances of a finding: only they are made, Repeats times.
	Replay []string
	// Speed is how much faster the clusters' clocks run than the machine's.
	Speed float64
	// Progress is called after each run; it may be nil.
	Progress func(Progress)
}

// Report has the findings of a hunt.
type Report struct {
	// Points counts the operator's writes, Tried the disturbed runs and Unmet those in which the write did not occur.
	Points int `json:"points"`
	Tried  int `json:"runs"`
	Unmet  int `json:"unmet"`
	// Left are the disturbances, each alone, for which the budget or the number of runs did not suffice.
	Left     int     `json:"left,omitempty"`
	Findings []Found `json:"findings"`
	// Unrepeated are ends that no repetition has shown again: they are no findings.
	Unrepeated []Found `json:"unrepeated,omitempty"`
}

// Found is a finding.
type Found struct {
	// Name identifies the finding: "crash_atomicity_1a2b3c4d".
	Name         string   `json:"name"`
	Class        string   `json:"class"`
	Disturbances []string `json:"disturbances"`
	// Story describes it, in several lines.
	Story string `json:"story"`
	// CameBack of Repeated repetitions ended in the same way.
	CameBack int `json:"cameBack"`
	Repeated int `json:"repeated"`
	// Run is the record of its run; nil if its cluster did not start.
	Run *runrecord.Run `json:"-"`
}

// HuntBinary hunts for bugs of an operator's program. Each run has a cluster whose time runs at Speed, since nothing shows whether a
// program is idle: therefore runs with equal disturbances may end differently, and each finding is repeated. An error says why there
// is no hunt: the scenario cannot be read, the operator does not start or does not come to rest, or ctx has ended.
func HuntBinary(ctx context.Context, b Binary) (*Report, error) {
	workload, err := readScenario(b.Scenario, b.Set)
	if err != nil {
		return nil, err
	}
	return huntProgram(ctx, b, workload)
}

// huntProgram is HuntBinary with a scenario that has been read.
func huntProgram(ctx context.Context, b Binary, workload Workload, opts ...Option) (*Report, error) {
	workload.Rest = 10 * slice // of which the last tenth is looked at
	h := &hunter{settings: newSettings(opts), operator: Operator{User: DefaultUser}, workload: workload, noise: map[string]bool{}, usual: conduct{}}
	front, err := newCertificate()
	if err != nil {
		return nil, err
	}
	h.attempt = func(seed uint64, steps []Step, disturbances []Disturbance) *outcome {
		r := &program{hunter: h, binary: &b, certificate: front, attention: make(chan struct{}, 1), seed: seed, steps: steps, out: &outcome{disturbances: disturbances}}
		if err := r.run(ctx); err != nil {
			r.out.failure = err.Error()
		}
		return r.out
	}
	return h.run(ctx, &b)
}

// run makes the runs that b asks for.
func (h *hunter) run(ctx context.Context, b *Binary) (*Report, error) {
	replay, err := parseDisturbances(b.Replay)
	if err != nil {
		return nil, err
	}
	h.trials, h.seed, h.parallel, h.repeats = b.Trials, b.Seed, b.Parallel, b.Repeats
	if h.identity, err = newIdentity(ctx); err != nil {
		return nil, err
	}
	if err := h.learn(); err != nil {
		return nil, err
	}
	elapsed := clock.Stopwatch()
	h.stopped = func() bool { return ctx.Err() != nil || elapsed() > b.Budget }
	h.progressed = b.Progress
	if len(replay) == 0 {
		h.hunt()
	} else if err := h.repeat(replay); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return h.found(), nil
}

// newIdentity returns the identity of a cluster that has been.
func newIdentity(ctx context.Context) (*minikcm.Identity, error) {
	c, err := minikcm.Start(ctx, minikcm.Options{Nodes: minikcm.NodeOptions{Count: -1}, API: minikcm.APIOptions{NoHTTPS: true}})
	if err != nil {
		return nil, err
	}
	return c.Identity(), c.Close()
}

// found returns the report.
func (h *hunter) found() *Report {
	r := &Report{Points: len(h.points), Tried: h.tried, Unmet: h.unmet, Left: h.left, Findings: []Found{}}
	slices.SortStableFunc(h.findings, func(a, b *finding) int { return b.cameBack - a.cameBack })
	for _, f := range h.findings {
		one := Found{Name: f.name(), Class: f.class(), Story: h.story(f), CameBack: f.cameBack, Repeated: f.repeated, Run: f.first.record}
		for _, d := range f.first.disturbances {
			one.Disturbances = append(one.Disturbances, d.String())
		}
		if one.Run != nil {
			one.Run.Scenario.Name = fmt.Sprintf("%s (%s)", one.Run.Scenario.Name, one.Class)
			one.Run.Verdict, one.Run.Message = runrecord.Failed, fmt.Sprintf("%s: %s\n%s", one.Class, strings.Join(one.Disturbances, ", "), one.Story)
			one.Run.Failures = append(one.Run.Failures, runrecord.Failure{At: one.Run.Cluster, Span: -1, Check: "the hunt", Message: one.Run.Message})
		}
		if f.cameBack == 0 && f.repeated > 0 {
			r.Unrepeated = append(r.Unrepeated, one)
			continue
		}
		r.Findings = append(r.Findings, one)
	}
	return r
}
