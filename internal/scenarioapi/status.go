package scenarioapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
)

const (
	// statusTexts caps the bytes of all texts of a status. Of these, a title may have maxTitle, another text
	// maxLine, and a step stepNotes notes.
	statusTexts = 256 << 10
	maxTitle    = 120
	maxLine     = 1 << 10
	stepNotes   = 5
)

// The types of the conditions of a ScenarioRun, as a Job's.
const (
	conditionComplete = "Complete"
	conditionFailed   = "Failed"
)

// runStatus is the status of a ScenarioRun, which scenariorun.yaml describes.
type runStatus struct {
	Phase          State              `json:"phase"`
	Conditions     []metav1.Condition `json:"conditions,omitempty"`
	Scenario       string             `json:"scenario"`
	Description    string             `json:"description,omitempty"`
	User           string             `json:"user,omitempty"`
	Seed           uint64             `json:"seed"`
	StartTime      metav1.Time        `json:"startTime"`
	CompletionTime *metav1.Time       `json:"completionTime,omitempty"`
	Duration       string             `json:"duration"`
	Step           string             `json:"step,omitempty"`
	Failures       int                `json:"failures"`
	Failure        string             `json:"failure,omitempty"`
	Causes         []string           `json:"causes,omitempty"`
	Notes          []string           `json:"notes,omitempty"`
	Steps          []stepStatus       `json:"steps,omitempty"`
	Invariants     []Invariant        `json:"invariants,omitempty"`
	Report         *reportStatus      `json:"report,omitempty"`
}

type stepStatus struct {
	Title          string       `json:"title"`
	State          StepState    `json:"state"`
	Last           bool         `json:"last,omitempty"`
	StartTime      *metav1.Time `json:"startTime,omitempty"`
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	Differs        string       `json:"differs,omitempty"`
	Failure        string       `json:"failure,omitempty"`
	Notes          []string     `json:"notes,omitempty"`
}

type reportStatus struct {
	Path           string          `json:"path,omitempty"`
	ClusterSeconds float64         `json:"clusterSeconds"`
	RealSeconds    float64         `json:"realSeconds"`
	Passed         int             `json:"passed"`
	Failed         int             `json:"failed"`
	Checks         []checkStatus   `json:"checks,omitempty"`
	Failures       []failureStatus `json:"failures,omitempty"`
}

type checkStatus struct {
	Title string `json:"title"`
	State State  `json:"state"`
}

type failureStatus struct {
	Expected string   `json:"expected,omitempty"`
	Found    string   `json:"found"`
	Differs  []string `json:"differs,omitempty"`
	Causes   []string `json:"causes,omitempty"`
}

// object returns the run as an object. It is made again only after changes.
func (r *running) object() minikcm.LiveObject {
	run, changed, version := r.current()
	r.objectMu.Lock()
	defer r.objectMu.Unlock()
	if r.shownObject.Version == version {
		return r.shownObject
	}
	r.shownObject = minikcm.LiveObject{Name: run.ID, Spec: r.given, Status: statusOf(&run, changed), Version: version}
	return r.shownObject
}

// statusOf returns the status of a run that has changed last at a time.
func statusOf(run *Run, changed time.Time) *runStatus {
	texts := &budget{left: statusTexts}
	s := &runStatus{
		Phase: run.State, Scenario: run.Scenario, Description: texts.cut(run.Description, maxLine), User: run.User, Seed: run.Seed,
		StartTime: *timeOf(&run.Since), CompletionTime: timeOf(run.Until), Duration: changed.Sub(run.Since).Round(time.Second).String(),
		Failure: texts.cut(run.Failure, maxLine), Causes: texts.cutAll(run.Causes),
	}
	for i := range run.Steps {
		step := &run.Steps[i]
		s.Steps = append(s.Steps, stepStatus{
			Title: texts.cut(step.Title, maxTitle), State: step.State, Last: step.Last, StartTime: timeOf(step.Since), CompletionTime: timeOf(step.Until),
			Differs: texts.cut(step.Differs, maxLine), Failure: texts.cut(step.Failure, maxLine),
		})
		if step.State == StepFailed {
			s.Failures++
		}
		if s.Step == "" && step.State == StepActive || run.State.Done() && step.State == StepFailed && !step.Last {
			s.Step = fmt.Sprintf("%d/%d %s", i+1, len(run.Steps), s.Steps[i].Title)
		}
	}
	for _, one := range run.Invariants {
		s.Invariants = append(s.Invariants, Invariant{Name: texts.cut(one.Name, maxTitle), State: one.State, Failure: texts.cut(one.Failure, maxLine)})
		if one.State == StepFailed {
			s.Failures++
		}
	}
	if run.State.Done() {
		s.Conditions = []metav1.Condition{conditionOf(run, s)}
	}
	if run.Report != nil {
		s.Report = reportStatusOf(run, texts)
	}
	s.Notes = texts.cutAll(run.Notes)
	for i := range slices.Backward(run.Steps) {
		notes := run.Steps[i].Notes
		s.Steps[i].Notes = texts.cutAll(notes[max(0, len(notes)-stepNotes):])
	}
	return s
}

// conditionOf returns the condition of a run that is over.
func conditionOf(run *Run, s *runStatus) metav1.Condition {
	c := metav1.Condition{Type: conditionFailed, Status: metav1.ConditionTrue, Reason: "RunFailed", Message: s.Failure, LastTransitionTime: *s.CompletionTime}
	isFailed := func(i Invariant) bool { return i.State == StepFailed }
	switch {
	case run.State == Passed:
		c.Type, c.Reason, c.Message = conditionComplete, "Passed", "All steps are done, and all checks held."
	case run.State == Stopped:
		c.Reason = "Stopped"
	case slices.ContainsFunc(run.Invariants, isFailed):
		c.Reason = "InvariantFailed"
	case s.Failures > 0:
		c.Reason = "StepFailed"
	}
	return c
}

func reportStatusOf(run *Run, texts *budget) *reportStatus {
	r := run.Report
	s := &reportStatus{ClusterSeconds: r.ClusterSeconds, RealSeconds: r.RealSeconds, Passed: r.Passed, Failed: r.Failed}
	if r.Page {
		s.Path = Path + "/" + runsName + "/" + run.ID + "/" + reportName
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		s.Failures = append(s.Failures, failureStatus{
			Expected: texts.cut(f.Expected, maxLine), Found: texts.cut(f.Found, maxLine), Differs: texts.cutAll(f.Differs), Causes: texts.cutAll(f.Causes),
		})
	}
	for i := range r.Checks {
		s.Checks = append(s.Checks, checkStatus{Title: texts.cut(r.Checks[i].Title, maxTitle), State: r.Checks[i].State})
	}
	return s
}

func timeOf(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	shown := metav1.NewTime(t.Truncate(time.Second))
	return &shown
}

// budget cuts texts which together may have a number of bytes.
type budget struct{ left int }

// cut returns a text of at most limit bytes, or what is left.
func (b *budget) cut(text string, limit int) string {
	if limit = min(limit, b.left); len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
		if limit > 0 {
			text += "…"
		}
	}
	b.left = max(0, b.left-len(text))
	return text
}

// cutAll returns the texts that are not empty then.
func (b *budget) cutAll(texts []string) (all []string) {
	for _, text := range texts {
		if cut := b.cut(text, maxLine); cut != "" {
			all = append(all, cut)
		}
	}
	return all
}

// specOf returns the spec that is shown of a run which a request at Path began.
func specOf(asked *request) json.RawMessage {
	shown := *asked
	if len(shown.Document) > maxShown {
		shown.Document = ""
	}
	data, _ := json.Marshal(shown) // of strings it does not fail
	return data
}
