package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
)

// explore runs the scenarios with successive seeds until one fails or, with --keep-going,
// with all seeds.
func (r *scenarioRunner) explore(ctx context.Context, all []*scenarios.Scenario) ([]*scenarios.Result, error) {
	e := &exploration{runner: r, elapsed: clock.Stopwatch(), terminal: isTerminal(r.out), total: r.flags.repeat * len(all)}
	if r.flags.untilFailure {
		e.total = 0
	}
	var workers sync.WaitGroup
	for range r.flags.parallel {
		workers.Go(func() {
			for ctx.Err() == nil {
				j, ok := e.next(all)
				if !ok {
					return
				}
				e.try(ctx, j)
			}
		})
	}
	workers.Wait()
	return e.conclude(), e.err
}

// exploration is a search for seeds that make a scenario fail.
type exploration struct {
	runner   *scenarioRunner
	elapsed  stopwatch
	terminal bool
	// total is the number of runs, or 0 to run until one fails.
	total int

	mu       sync.Mutex
	begun    int
	passed   int
	failures []failedRun
	last     *scenarios.Result
	err      error
}

// failedRun is a failed run, with its output and the command that repeats it.
type failedRun struct {
	index  int
	result *scenarios.Result
	shown  []byte
	rerun  string
}

// maxReported caps the failed runs whose records are kept for reports. A record takes some
// megabytes.
const maxReported = 20

// next returns the next run to do, or false if there is none.
func (e *exploration) next(all []*scenarios.Scenario) (job, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := len(e.failures) > 0 && !e.runner.flags.keepGoing
	if found || e.err != nil || e.total > 0 && e.begun == e.total {
		return job{}, false
	}
	s := all[e.begun%len(all)]
	first := cmp.Or(e.runner.flags.opts.Seed, s.Spec.Cluster.Seed, 1)
	j := job{index: e.begun, scenario: s, seed: first + uint64(e.begun/len(all))}
	e.begun++
	return j, true
}

func (e *exploration) try(ctx context.Context, j job) {
	var buffer bytes.Buffer
	// A run keeps state in its scenario, so each run reads its own.
	s, err := readAgain(j.scenario, e.runner.flags.opts.Set)
	var result *scenarios.Result
	if err == nil {
		j.scenario = s
		result, err = e.runner.one(ctx, j, &buffer)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		e.err = errors.Join(e.err, err)
		return
	case result.Failure == nil:
		e.passed++
		e.last = result
	default:
		f := failedRun{index: j.index, result: result, rerun: rerunCommand(result, e.runner.flags.opts.Kubeconfig)}
		if e.failures = append(e.failures, f); len(e.failures) > maxReported {
			result.Run = nil
		} else {
			e.failures[len(e.failures)-1].shown = buffer.Bytes()
		}
	}
	if e.terminal {
		_, _ = fmt.Fprintf(e.runner.out, rewind+"%s, now at seed %d, after %v", e.counts(), j.seed, round(e.elapsed()))
	}
}

func (e *exploration) counts() string {
	if len(e.failures) == 0 {
		return fmt.Sprintf("%d passed", e.passed)
	}
	return fmt.Sprintf("%d passed, %d failed", e.passed, len(e.failures))
}

// conclude prints the output of the first failed run, and a line for each of the others. It
// returns the runs to report: the failed ones or, if none failed, the last one.
func (e *exploration) conclude() []*scenarios.Result {
	out := e.runner.out
	if e.terminal {
		_, _ = fmt.Fprint(out, rewind)
	}
	slices.SortFunc(e.failures, func(a, b failedRun) int { return cmp.Compare(a.index, b.index) })
	if !e.runner.flags.keepGoing && len(e.failures) > 1 { // parallel runs failed, too
		e.failures = e.failures[:1]
	}
	var results []*scenarios.Result
	for i, f := range e.failures {
		results = append(results, f.result)
		if i == 0 {
			_, _ = out.Write(f.shown)
		}
	}
	if e.runner.flags.keepGoing && len(results) > 0 {
		e.printFailures()
		return results
	}
	_, _ = fmt.Fprintf(out, "%d runs passed in %v\n", e.passed, round(e.elapsed()))
	if len(results) == 0 && e.last != nil {
		results = append(results, e.last)
	}
	return results
}

// printFailures prints the failure rate, and an error and a command for each failed run.
func (e *exploration) printFailures() {
	out, failed := e.runner.out, len(e.failures)
	_, _ = fmt.Fprintf(out, "\n%d of %d runs failed (%.1f %%) in %v:\n", failed, e.passed+failed, 100*float64(failed)/float64(e.passed+failed), round(e.elapsed()))
	for _, f := range e.failures {
		line, _, _ := strings.Cut(f.result.Failure.Error(), "\n")
		_, _ = fmt.Fprintf(out, "  seed %d: %s\n    %s\n", f.result.Seed, line, f.rerun)
	}
	if failed > maxReported {
		_, _ = fmt.Fprintf(out, "Reports contain the first %d of them.\n", maxReported)
	}
}
