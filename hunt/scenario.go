package hunt

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios"
)

// leeway is how much longer than undisturbed the checks of a scenario may take to hold: the operator may be away for restartDelay,
// and miss events for holdTime, twice.
const leeway = 2 * (restartDelay + holdTime)

// ScenarioFile returns the workload of a file with one scenario (docs/scenarios.md). The clusters are those that it describes, its
// steps are the steps of the workload, and a violated invariant, or a step that fails, is a finding. The time within which checks
// must hold is 80 s longer than it says. Workload.Rest passes while its invariants are watched, and Settle has no effect. The
// scenario must have virtual time, and run no other programs. ScenarioFile fails the test if the file cannot be read.
func ScenarioFile(t testing.TB, path string) Workload {
	t.Helper()
	w, err := readScenario(path, nil)
	if err != nil {
		t.Fatalf("hunt: %v", err)
	}
	return w
}

// readScenario is ScenarioFile with values of the scenario's variables.
func readScenario(path string, set map[string]string) (w Workload, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return w, fmt.Errorf("reading the scenario: %w", err)
	}
	return newScenario(&scenarioFile{path, data, set})
}

// CheckScenario returns why the file of a scenario cannot be hunted with; nil if it can.
func CheckScenario(path string, set map[string]string) error {
	_, err := readScenario(path, set)
	return err
}

// newScenario returns the workload of a scenario.
func newScenario(file *scenarioFile) (w Workload, err error) {
	w.scenario = file
	s, err := file.parse()
	if err != nil {
		return w, err
	}
	for i, title := range spec.Titles(s.Spec.Steps) {
		w.Steps = append(w.Steps, Step{Name: title, index: i})
	}
	return w, nil
}

// scenarioFile is a file with a scenario.
type scenarioFile struct {
	path string
	data []byte
	set  map[string]string
}

// parse reads the scenario. A run keeps state in it, so each run has its own.
func (f *scenarioFile) parse() (*scenarios.Scenario, error) {
	found, err := scenarios.Parse(f.path, f.data, f.set)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s has %d scenarios: a hunt needs one", f.path, len(found))
	}
	return found[0], nil
}

// read returns the workload's scenario with these steps of it; nil if the workload has none.
func (w *Workload) read(steps []Step) (*scenarios.Scenario, error) {
	if w.scenario == nil {
		return nil, nil
	}
	s, err := w.scenario.parse()
	if err != nil {
		return nil, err
	}
	all := s.Spec.Steps
	s.Spec.Steps = nil
	for _, step := range steps {
		s.Spec.Steps = append(s.Spec.Steps, all[step.index])
	}
	s.Spec.Timeout += spec.Duration(w.rest() + leeway*time.Duration(len(steps)+len(s.Spec.Invariants)+1))
	return s, nil
}

// runScenario runs a scenario to its end, and lets time rest.
func (r *trial) runScenario(ctx context.Context, s *scenarios.Scenario) error {
	result, err := scenarios.Run(ctx, s, scenarios.Options{
		Seed: r.seed, Cluster: r.cluster.Cluster, Driver: &driver{trial: r}, Leeway: leeway, Rest: r.workload.rest(), NoCurves: true,
	})
	if err != nil {
		return err
	}
	r.out.record = result.Run
	return result.Failure
}

// driver lets time pass for a scenario, and starts the operator again when it has crashed.
type driver struct {
	*trial
	over atomic.Bool
}

// Drive implements scenarios.Driver.
func (d *driver) Drive(ctx context.Context) error {
	return d.passUntil(ctx, d.over.Load, func(context.Context, func()) {})
}

// Over implements scenarios.Driver.
func (d *driver) Over() {
	d.over.Store(true)
	d.course.awake()
}
