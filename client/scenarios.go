package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Scenario says which scenario to run: one of Name and Document must be set.
type Scenario struct {
	// Name is the name of a shipped scenario, Document a scenario in YAML.
	Name     string `json:"name,omitempty"`
	Document string `json:"document,omitempty"`
	// Seed determines its choices; 0: the scenario's own seed does.
	Seed uint64 `json:"seed,omitempty"`
	// Set gives variables their values.
	Set map[string]string `json:"set,omitempty"`
	// Namespace takes the place of the namespace default.
	Namespace string `json:"namespace,omitempty"`
	// Overwrite lets it change objects that no scenario has made.
	Overwrite bool `json:"overwrite,omitempty"`
}

// ShippedScenario is a scenario that is shipped with minikcm.
type ShippedScenario struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Nodes       int      `json:"nodes"`
	Steps       []string `json:"steps"`
	// Refused says why it cannot run on this cluster; empty if it can.
	Refused string `json:"refused"`
}

// ScenarioRun is a run of a scenario. Times are the cluster's.
type ScenarioRun struct {
	ID          string `json:"id"`
	Scenario    string `json:"scenario"`
	Description string `json:"description"`
	Seed        uint64 `json:"seed"`
	// State is Running or Stopping, and finally Passed, Failed or Stopped.
	State string     `json:"state"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until"`
	// Steps and Invariants are empty in lists of runs.
	Steps      []ScenarioStep `json:"steps"`
	Invariants []ScenarioStep `json:"invariants"`
	Notes      []string       `json:"notes"`
	// Failure says why the state is Failed.
	Failure string   `json:"failure"`
	Causes  []string `json:"causes"`
	// Report is set at the end of a run, except in lists.
	Report *ScenarioReport `json:"report"`
}

// ScenarioReport is the result of a run that has ended.
type ScenarioReport struct {
	// ClusterSeconds and RealSeconds are how long it took by the cluster's clock and by the
	// machine's.
	ClusterSeconds float64 `json:"clusterSeconds"`
	RealSeconds    float64 `json:"realSeconds"`
	// Passed and Failed count its checks; Checks has the first 200.
	Passed int             `json:"passed"`
	Failed int             `json:"failed"`
	Checks []ScenarioCheck `json:"checks"`
	// Failures are the first 20.
	Failures []ScenarioFailure `json:"failures"`
	// Page reports that Cluster.ScenarioReport returns the report as a page.
	Page bool `json:"page"`
}

// ScenarioCheck is a check of a run. State is Passed, Failed, or Stopped if the run ended first.
type ScenarioCheck struct {
	Title string     `json:"title"`
	State string     `json:"state"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until"`
}

// ScenarioFailure describes a failed expectation of a run.
type ScenarioFailure struct {
	Time time.Time `json:"time"`
	// Expected is the state that was expected, Found the actual state. Differs has a line for each
	// difference.
	Expected string   `json:"expected"`
	Found    string   `json:"found"`
	Differs  []string `json:"differs"`
	// Causes are the writes that led to it, a text for each object.
	Causes []string `json:"causes"`
}

// ScenarioStep is a step of a run, or an invariant, which has a name.
type ScenarioStep struct {
	Title string `json:"title"`
	Name  string `json:"name"`
	// State is Waiting, Active, Background, Done, Failed or Skipped.
	State string `json:"state"`
	// Last is set if the step is done however the run went.
	Last  bool       `json:"last"`
	Since *time.Time `json:"since"`
	Until *time.Time `json:"until"`
	// RealSeconds is how long it took by the machine's clock.
	RealSeconds float64 `json:"realSeconds"`
	// Differs is the difference that keeps its check waiting.
	Differs string   `json:"differs"`
	Notes   []string `json:"notes"`
	Failure string   `json:"failure"`
}

const (
	scenariosPath = "/minikcm/v1/scenarios"
	runsPath      = scenariosPath + "/runs"
)

// Scenarios returns the scenarios that are shipped.
func (c *Cluster) Scenarios(ctx context.Context) ([]ShippedScenario, error) {
	var all []ShippedScenario
	err := c.ask(ctx, http.MethodGet, scenariosPath, nil, nil, &all)
	return all, err
}

// ScenarioSource returns the YAML of a shipped scenario.
func (c *Cluster) ScenarioSource(ctx context.Context, name string) (string, error) {
	res, err := c.send(ctx, http.MethodGet, scenariosPath+"/"+url.PathEscape(name), nil, nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxStatus))
	return string(data), err
}

// RunScenario begins to run a scenario in the cluster, and returns before its first step. One runs
// at a time.
func (c *Cluster) RunScenario(ctx context.Context, what Scenario) (*ScenarioRun, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	run := &ScenarioRun{}
	return run, c.ask(ctx, http.MethodPost, scenariosPath, nil, body, run)
}

// ScenarioRuns returns the newest runs, oldest first, without their steps.
func (c *Cluster) ScenarioRuns(ctx context.Context) ([]ScenarioRun, error) {
	var all []ScenarioRun
	err := c.ask(ctx, http.MethodGet, runsPath, nil, nil, &all)
	return all, err
}

// ScenarioRun returns a run.
func (c *Cluster) ScenarioRun(ctx context.Context, id string) (*ScenarioRun, error) {
	run := &ScenarioRun{}
	return run, c.ask(ctx, http.MethodGet, runsPath+"/"+url.PathEscape(id), nil, nil, run)
}

// FollowScenario calls each with a run now and after changes, and returns the run when it is over.
// each may be nil.
func (c *Cluster) FollowScenario(ctx context.Context, id string, each func(*ScenarioRun)) (*ScenarioRun, error) {
	res, err := c.send(ctx, http.MethodGet, runsPath+"/"+url.PathEscape(id), url.Values{"follow": {"true"}}, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	lines := json.NewDecoder(res.Body)
	for {
		run := &ScenarioRun{}
		if err := lines.Decode(run); err != nil {
			return nil, err
		}
		if each != nil {
			each(run)
		}
		if run.Until != nil {
			return run, nil
		}
	}
}

// StopScenario stops a run, which takes back its faults, and returns when it has ended.
func (c *Cluster) StopScenario(ctx context.Context, id string) (*ScenarioRun, error) {
	run := &ScenarioRun{}
	return run, c.ask(ctx, http.MethodDelete, runsPath+"/"+url.PathEscape(id), nil, nil, run)
}

// ScenarioReport writes the report of a run that is over to w: a page in HTML, which needs no other
// file.
func (c *Cluster) ScenarioReport(ctx context.Context, id string, w io.Writer) error {
	res, err := c.send(ctx, http.MethodGet, runsPath+"/"+url.PathEscape(id)+"/report", nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(w, res.Body)
	return err
}
