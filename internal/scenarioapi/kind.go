package scenarioapi

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios"
)

var (
	//go:embed scenariorun.yaml
	definitionYAML []byte
	// scenarioSchema is the schema of spec.scenario, which is generated from the schema of scenarios.
	//go:embed scenario.json
	scenarioSchema []byte
)

// definition returns the CustomResourceDefinition of ScenarioRuns: scenariorun.yaml, in which SCENARIO
// stands for the schema.
var definition = sync.OnceValue(func() []byte {
	var schema bytes.Buffer
	if err := json.Compact(&schema, scenarioSchema); err != nil {
		panic(fmt.Sprintf("decoding scenario.json: %v", err)) // it is a part of the program
	}
	return bytes.Replace(definitionYAML, []byte("SCENARIO"), schema.Bytes(), 1)
})

// liveRun is the kind of the objects, and liveResource its resource.
var (
	liveRun      = schema.GroupKind{Group: "simulation.minikcm.dev", Kind: "ScenarioRun"}
	liveResource = schema.GroupResource{Group: liveRun.Group, Resource: "scenarioruns"}
)

// maxShown caps the spec of an object, in bytes: each change of the status stores it again.
const maxShown = 256 << 10

// runSpec is the spec of a ScenarioRun, which scenariorun.yaml describes.
type runSpec struct {
	request
	// Scenario is the spec of a scenario.
	Scenario json.RawMessage `json:"scenario,omitempty"`
}

// objects are the runs as objects of the API.
type objects struct{ *service }

// Now implements minikcm.LiveObjects.
func (o objects) Now() []minikcm.LiveObject {
	var all []minikcm.LiveObject
	for _, r := range o.list() {
		all = append(all, r.object())
	}
	return all
}

// Changed implements minikcm.LiveObjects.
func (o objects) Changed() <-chan struct{} { return o.news.Wait() }

// Apply implements minikcm.LiveObjects.
func (o objects) Apply(_ context.Context, name string, _ []byte, _ bool) error {
	return openrequests.Unchangeable(liveRun, name, "a run")
}

// Create implements minikcm.LiveCreator.
func (o objects) Create(ctx context.Context, name string, data []byte, dryRun bool) error {
	if len(data) > maxShown {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the spec of a ScenarioRun may have %d bytes, and this has %d: run the scenario with \"minikcm scenario run\"", maxShown, len(data)))
	}
	var asked runSpec
	if err := json.Unmarshal(data, &asked); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("reading the spec of a ScenarioRun: %v", err))
	}
	scenario, wrong := o.scenarioOf(name, &asked)
	if len(wrong) > 0 {
		return apierrors.NewInvalid(liveRun, name, wrong)
	}
	_, err := o.begin(scenario, beginOptions{request: asked.request, user: auth.NameFromContext(ctx), name: name, given: slices.Clone(json.RawMessage(data)), dryRun: dryRun})
	return err
}

// Delete implements minikcm.LiveCreator.
func (o objects) Delete(ctx context.Context, name string, dryRun bool) error {
	found := o.find(name)
	if found == nil || dryRun {
		return nil
	}
	if !o.end(ctx, found) {
		return apierrors.NewTimeoutError(fmt.Sprintf("the run %s stops, and has not ended yet: %v", name, context.Cause(ctx)), 1)
	}
	o.forget(found)
	return nil
}

// scenarioOf returns the scenario that a spec asks for, or what is wrong with the fields.
func (o objects) scenarioOf(name string, asked *runSpec) (*scenarios.Scenario, field.ErrorList) {
	path := field.NewPath("spec")
	var wrong field.ErrorList
	if asked.Namespace != "" {
		for _, problem := range validation.IsDNS1123Label(asked.Namespace) {
			wrong = append(wrong, field.Invalid(path.Child("namespace"), asked.Namespace, problem))
		}
	}
	var given []string
	for what, is := range map[string]bool{"name": asked.Name != "", "document": asked.Document != "", "scenario": len(asked.Scenario) > 0} {
		if is {
			given = append(given, what)
		}
	}
	slices.Sort(given)
	switch {
	case len(given) == 0:
		return nil, append(wrong, field.Required(path, "give one of name, of a shipped scenario, document, a scenario in YAML, and scenario, the fields of its spec"))
	case len(given) > 1:
		return nil, append(wrong, field.Invalid(path, field.OmitValueType{}, "only one of name, document and scenario may be given, and there are "+strings.Join(given, " and ")))
	case asked.Name != "" && !slices.Contains(scenarios.Names(), asked.Name):
		return nil, append(wrong, field.Invalid(path.Child("name"), asked.Name, "no shipped scenario has this name: "+spec.DidYouMean(asked.Name, scenarios.Names())))
	}
	found, places, err := asked.parse(name)
	if err == nil {
		err = checkSteps(found)
	}
	if err == nil {
		err = scenarios.PossibleOn(found, o.cluster)
	}
	return found, append(wrong, fieldErrors(path.Child(given[0]), places, err)...)
}

// parse reads the scenario. places are the steps of spec.scenario.
func (q *runSpec) parse(name string) (found *scenarios.Scenario, places places, err error) {
	if len(q.Scenario) == 0 {
		found, err = q.scenario()
		return found, nil, err
	}
	text, places, err := documentOf(name, q.Scenario)
	if err != nil {
		return nil, nil, err
	}
	found, err = scenarios.ParseAlone(text, q.Set)
	return found, places, err
}

// fieldErrors returns the problems of a scenario that is in a field.
func fieldErrors(at *field.Path, places places, err error) field.ErrorList {
	if err == nil {
		return nil
	}
	var problems spec.Problems
	if !errors.As(err, &problems) {
		return field.ErrorList{invalidAt(at.String(), err.Error())}
	}
	var all field.ErrorList
	for _, p := range problems {
		name, is := strings.CutPrefix(p.Message, "--set ")
		variable, what, cut := strings.Cut(name, ": ")
		switch {
		case is && cut:
			all = append(all, invalidAt(field.NewPath("spec", "set").Key(variable).String(), what))
		case places != nil:
			all = append(all, invalidAt(places.fieldOf(at, p), p.Message))
		default:
			all = append(all, invalidAt(at.String(), strings.Join(texts(spec.Problems{p}), "")))
		}
	}
	return all
}

func invalidAt(path, detail string) *field.Error {
	return &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: detail}
}
