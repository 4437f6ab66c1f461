package scenarioapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios"
)

const (
	// maxBody caps the body of a request, in bytes.
	maxBody = 1 << 20
	// lineInterval is the machine's time between two lines of a stream: the changes in
	// between are in one line.
	lineInterval = 200 * time.Millisecond
)

// request is the body of a POST. Exactly one of Name and Document must be set.
type request struct {
	// Name is the name of a shipped scenario.
	Name string `json:"name,omitempty"`
	// Document is a scenario in YAML.
	Document string `json:"document,omitempty"`
	// Seed determines its choices; 0: the scenario's own seed does.
	Seed uint64 `json:"seed,omitempty"`
	// Set gives variables their values.
	Set map[string]string `json:"set,omitempty"`
	// Namespace takes the place of the namespace default; it is made if it does not exist, and
	// then deleted at the end. Shipped scenarios have one of their own by default.
	Namespace string `json:"namespace,omitempty"`
	// Overwrite lets it change objects that no scenario has made.
	Overwrite bool `json:"overwrite,omitempty"`
}

// ServeHTTP implements minikcm.ExtensionHandler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Serve(w, r, errClosed, minikcm.WriteError, s.serve)
}

func (s *service) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	name, id, _ := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/"), "/")
	what := "scenario"
	id, isReport := strings.CutSuffix(id, "/"+reportName)
	switch {
	case name == "":
		what = "scenarios"
	case name == runsName && id == "":
		what = "runs"
	case name == runsName && isReport:
		what = "report"
	case name == runsName:
		what = "run"
	case id != "" || isReport:
		return apierrors.NewNotFound(resource, name+"/"+id)
	}
	route := r.Method + " " + what
	if route != "GET runs" && route != "GET run" { // which can be followed
		if _, err := openrequests.Parameters(r); err != nil {
			return err
		}
	}
	switch route {
	case "GET scenarios":
		return s.serveShipped(w)
	case "POST scenarios":
		return s.serveBegin(w, r)
	case "GET scenario":
		return serveSource(w, name)
	case "GET runs":
		return s.serveShown(ctx, w, r, func() any { return s.summaries() }, func() bool { return false })
	case "GET run":
		if found := s.find(id); found != nil {
			return s.serveShown(ctx, w, r, func() any { return found.look(false) }, func() bool { return found.look(true).State.Done() })
		}
		return apierrors.NewNotFound(resource, id)
	case "GET report":
		return s.serveReport(w, id)
	case "DELETE run":
		return s.serveStop(ctx, w, id)
	}
	return openrequests.NotAllowed(w, r, resource, map[string]string{"scenarios": "GET, POST", "scenario": "GET", "runs": "GET", "run": "GET, DELETE", "report": "GET"}[what])
}

// library returns the shipped scenarios.
var library = sync.OnceValues(scenarios.Library)

// serveShipped lists the shipped scenarios, with the reasons why they cannot run on this cluster.
func (s *service) serveShipped(w http.ResponseWriter) error {
	all, err := library()
	if err != nil {
		return err
	}
	shown := []Shipped{}
	for _, one := range all {
		entry := Shipped{Name: one.Metadata.Name, Description: one.Spec.Description, Steps: []string{}}
		if one.Spec.Cluster.Nodes != nil {
			entry.Nodes = *one.Spec.Cluster.Nodes
		}
		for i := range one.Spec.Steps {
			entry.Steps = append(entry.Steps, one.Spec.Steps[i].Title())
		}
		if err := scenarios.PossibleOn(one, s.cluster); err != nil {
			entry.Refused = strings.Join(texts(err), "; ")
		}
		shown = append(shown, entry)
	}
	return answer(w, http.StatusOK, shown)
}

// serveSource responds with the YAML of a shipped scenario.
func serveSource(w http.ResponseWriter, name string) error {
	if !slices.Contains(scenarios.Names(), name) {
		return apierrors.NewNotFound(resource, name)
	}
	data, err := scenarios.Source(name)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(data) // fails only if the client is gone
	return nil
}

// serveBegin begins a run, and responds before its first step.
func (s *service) serveBegin(w http.ResponseWriter, r *http.Request) error {
	asked, err := readRequest(w, r)
	if err != nil {
		return err
	}
	if asked.Name != "" && !slices.Contains(scenarios.Names(), asked.Name) {
		return apierrors.NewNotFound(resource, asked.Name)
	}
	scenario, err := asked.scenario()
	if err != nil {
		return invalid(err)
	}
	if err := checkSteps(scenario); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := scenarios.PossibleOn(scenario, s.cluster); err != nil {
		return invalid(err)
	}
	run, err := s.begin(scenario, beginOptions{request: *asked, user: minikcm.RequestUser(r), given: specOf(asked)})
	if err != nil {
		return err
	}
	shown := run.look(false)
	w.Header().Set("Location", Path+"/"+runsName+"/"+shown.ID)
	return answer(w, http.StatusCreated, shown)
}

func readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	data, err := openrequests.ReadBody(w, r, maxBody, "the request for a scenario", "reading which scenario to run")
	if err != nil {
		return nil, err
	}
	asked := &request{}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(asked); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(`reading which scenario to run, such as {"name": "pod-kill"}: %v`, err))
	}
	if (asked.Name == "") == (asked.Document == "") {
		return nil, apierrors.NewBadRequest(`give one of name, of a shipped scenario, and document, a scenario in YAML`)
	}
	if asked.Namespace != "" {
		if problems := validation.IsDNS1123Label(asked.Namespace); len(problems) > 0 {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("namespace %q: %s", asked.Namespace, strings.Join(problems, "; ")))
		}
	}
	return asked, nil
}

// scenario returns the scenario that a request asks for, by its document or the name of a shipped one. The
// error is a spec.Problems if something is wrong with it.
func (q *request) scenario() (*scenarios.Scenario, error) {
	if q.Document != "" {
		return scenarios.ParseAlone([]byte(q.Document), q.Set)
	}
	found, err := scenarios.Find(q.Name, q.Set)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// checkSteps returns an error for a scenario of too many steps.
func checkSteps(scenario *scenarios.Scenario) error {
	if n := len(scenario.Spec.Steps) + len(scenario.Spec.Finally); n > maxSteps {
		return fmt.Errorf("a scenario that runs here may have %d steps, and this has %d: run it with \"minikcm scenario run\"", maxSteps, n)
	}
	return nil
}

// invalid returns the response to a scenario with problems, a cause for each.
func invalid(err error) error {
	var problems spec.Problems
	if !errors.As(err, &problems) {
		return err
	}
	status := apierrors.NewInvalid(kind, "", nil)
	for _, p := range problems {
		field := p.Field
		if p.Line > 0 {
			field = strings.TrimSuffix(fmt.Sprintf("line %d: %s", p.Line, p.Field), ": ")
		}
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: p.Message})
	}
	status.ErrStatus.Message = "the scenario cannot run here: " + strings.Join(texts(err), "; ")
	return status
}

// texts are the problems of a scenario, without its file, each once.
func texts(err error) (all []string) {
	var problems spec.Problems
	if !errors.As(err, &problems) {
		return []string{err.Error()}
	}
	for _, p := range problems {
		text := p.Message
		if p.Line > 0 {
			text = fmt.Sprintf("line %d: %s", p.Line, strings.TrimPrefix(p.Field+": "+p.Message, ": "))
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

func (s *service) summaries() []Run {
	shown := []Run{}
	for _, r := range s.list() {
		shown = append(shown, r.look(true))
	}
	return shown
}

// serveStop stops a run, and responds when it has ended.
func (s *service) serveStop(ctx context.Context, w http.ResponseWriter, id string) error {
	found := s.find(id)
	if found == nil {
		return apierrors.NewNotFound(resource, id)
	}
	s.end(ctx, found)
	return answer(w, http.StatusOK, found.look(false))
}

// serveShown responds with the result of look or, with follow=true, with a line of JSON now and
// after changes, until done returns true.
func (s *service) serveShown(ctx context.Context, w http.ResponseWriter, r *http.Request, look func() any, done func() bool) error {
	follow, err := openrequests.Follow(r)
	if err != nil {
		return err
	}
	if follow {
		s.news.Stream(ctx, w, lineInterval, func() (any, bool) {
			over := done()
			return look(), over
		})
		return nil
	}
	return answer(w, http.StatusOK, look())
}

func answer(w http.ResponseWriter, code int, body any) error {
	openrequests.Answer(w, code, body)
	return nil
}
