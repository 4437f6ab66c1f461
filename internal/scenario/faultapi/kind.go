package faultapi

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

var (
	//go:embed fault.yaml
	definitionYAML []byte
	// specSchema is the schema of a spec, which is generated from the schema of scenarios.
	//go:embed spec.json
	specSchema []byte
)

// definition returns the CustomResourceDefinition of Faults: fault.yaml, in which SPEC stands for the schema.
var definition = sync.OnceValue(func() []byte {
	var schema bytes.Buffer
	if err := json.Compact(&schema, specSchema); err != nil {
		panic(fmt.Sprintf("decoding spec.json: %v", err)) // it is a part of the program
	}
	return bytes.Replace(definitionYAML, []byte("SPEC"), schema.Bytes(), 1)
})

// liveFault is the kind of the objects, and liveResource its resource.
var (
	liveFault    = schema.GroupKind{Group: "simulation.minikcm.dev", Kind: "Fault"}
	liveResource = schema.GroupResource{Group: liveFault.Group, Resource: Feature}
)

// maxShownNotes caps the notes in a status.
const maxShownNotes = 20

// faultStatus is the status of a Fault, which fault.yaml describes.
type faultStatus struct {
	State State      `json:"state"`
	Title string     `json:"title"`
	User  string     `json:"user,omitempty"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until,omitempty"`
	Times int        `json:"times"`
	Notes []Note     `json:"notes,omitempty"`
	Error string     `json:"error,omitempty"`
}

// objects are the faults as objects of the API.
type objects struct{ *service }

// Now implements minikcm.LiveObjects.
func (o objects) Now() []minikcm.LiveObject {
	var all []minikcm.LiveObject
	for _, r := range o.list() {
		shown, _ := r.look()
		status := faultStatus{
			State: shown.State, Title: shown.Title, User: shown.User, Since: shown.Since.Truncate(time.Second), Times: shown.Times, Error: shown.Error,
			Notes: shown.Notes[max(0, len(shown.Notes)-maxShownNotes):],
		}
		if shown.Until != nil {
			until := shown.Until.Truncate(time.Second)
			status.Until = &until
		}
		spec := shown.Fault
		if r.given != nil {
			spec = r.given
		}
		all = append(all, minikcm.LiveObject{Name: shown.ID, Spec: spec, Status: status})
	}
	return all
}

// Changed implements minikcm.LiveObjects.
func (o objects) Changed() <-chan struct{} { return o.news.Wait() }

// Apply implements minikcm.LiveObjects.
func (o objects) Apply(_ context.Context, name string, _ []byte, _ bool) error {
	return openrequests.Unchangeable(liveFault, name, "a fault")
}

// Create implements minikcm.LiveCreator.
func (o objects) Create(ctx context.Context, name string, data []byte, dryRun bool) error {
	if len(data) > maxBody {
		return openrequests.TooLarge("a fault", maxBody)
	}
	f, err := parseOne(data)
	var problems spec.Problems
	switch {
	case errors.As(err, &problems):
		all := field.ErrorList{}
		for _, p := range problems {
			path := field.NewPath("spec")
			if p.Field != "" {
				path = path.Child(p.Field)
			}
			all = append(all, &field.Error{Type: field.ErrorTypeInvalid, Field: path.String(), BadValue: field.OmitValueType{}, Detail: p.Message})
		}
		return apierrors.NewInvalid(liveFault, name, all)
	case err != nil:
		return err
	}
	_, err = o.inject(f, injectOptions{user: auth.NameFromContext(ctx), name: name, given: slices.Clone(json.RawMessage(data)), dryRun: dryRun})
	return err
}

// Delete implements minikcm.LiveCreator.
func (o objects) Delete(ctx context.Context, name string, dryRun bool) error {
	found := o.find(name)
	switch {
	case found == nil:
		return nil
	case found.adopted && !found.isDone():
		return apierrors.NewConflict(liveResource, name, errAdopted)
	case dryRun:
		return nil
	case !found.adopted:
		found.stop(errStopped)
	}
	select {
	case <-found.done:
	case <-ctx.Done():
		return apierrors.NewTimeoutError(fmt.Sprintf("the fault %s is not taken back yet: %v", name, context.Cause(ctx)), 1)
	}
	o.forget(found)
	return nil
}

// parseOne returns the one fault in a document.
func parseOne(data []byte) (*fault.Fault, error) {
	faults, err := fault.Parse("fault", data)
	var syntax *spec.SyntaxError
	var problems spec.Problems
	switch {
	case errors.As(err, &syntax): // which has problems, too
		return nil, apierrors.NewBadRequest("reading the fault: " + err.Error())
	case errors.As(err, &problems):
		return nil, err
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	case len(faults) > 1:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("a request injects one fault, and this has %d: send one request for each", len(faults)))
	}
	return faults[0], nil
}
