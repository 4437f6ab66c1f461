package forkapi

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/openrequests"
)

//go:embed fork.yaml
var definition []byte

// liveFork is the kind of the objects, and liveResource its resource.
var (
	liveFork     = schema.GroupKind{Group: "simulation.minikcm.dev", Kind: "Fork"}
	liveResource = schema.GroupResource{Group: liveFork.Group, Resource: Feature}
)

// forkStatus is the status of a Fork, which fork.yaml describes.
type forkStatus struct {
	Phase      phase              `json:"phase"`
	Conditions []metav1.Condition `json:"conditions"`
	Revision   int64              `json:"revision"`
	StartTime  metav1.Time        `json:"startTime"`
	Time       *metav1.Time       `json:"time,omitempty"`
	Server     string             `json:"server,omitempty"`
	Kubeconfig string             `json:"kubeconfig,omitempty"`
	Parent     string             `json:"parent"`
	User       string             `json:"user,omitempty"`
	LeftOut    int                `json:"leftOut"`
}

// objects are the forks as objects of the API.
type objects struct{ *service }

// Now implements minikcm.LiveObjects.
func (o objects) Now() []minikcm.LiveObject {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []minikcm.LiveObject
	for _, r := range o.forks {
		all = append(all, minikcm.LiveObject{Name: r.shown.ID, Spec: r.given, Status: r.statusLocked("https://" + o.cluster.Address())})
	}
	return all
}

func (r *running) statusLocked(parent string) forkStatus {
	s := forkStatus{
		Phase: r.phase, Revision: r.shown.Revision, StartTime: metav1.NewTime(r.shown.Time), Server: r.shown.Server, Kubeconfig: r.shown.Kubeconfig,
		Parent: parent, User: r.user, LeftOut: r.shown.LeftOut,
	}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: string(r.phase), LastTransitionTime: metav1.NewTime(r.since)}
	switch r.phase {
	case phaseRunning:
		ready.Status, ready.Message = metav1.ConditionTrue, "The nodes of the fork are Ready."
		now := metav1.NewTime(r.cluster.Clock().Now().UTC().Truncate(time.Second))
		s.Time = &now
	case phaseFailed:
		ready.Reason, ready.Message = "StartFailed", r.failure.Error()
	}
	s.Conditions = []metav1.Condition{ready}
	return s
}

// Changed implements minikcm.LiveObjects.
func (o objects) Changed() <-chan struct{} { return o.news.Wait() }

// Apply implements minikcm.LiveObjects.
func (o objects) Apply(_ context.Context, name string, _ []byte, _ bool) error {
	return openrequests.Unchangeable(liveFork, name, "a fork")
}

// Create implements minikcm.LiveCreator.
func (o objects) Create(ctx context.Context, name string, data []byte, dryRun bool) error {
	var asked request
	if err := json.Unmarshal(data, &asked); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("reading the spec of a Fork: %v", err))
	}
	_, err := o.begin(ctx, beginOptions{request: asked, user: auth.NameFromContext(ctx), name: name, given: slices.Clone(json.RawMessage(data)), dryRun: dryRun})
	var wrong *revisionError
	if errors.As(err, &wrong) {
		return apierrors.NewInvalid(liveFork, name, field.ErrorList{field.Invalid(field.NewPath("spec", "revision"), asked.Revision, wrong.Error())})
	}
	return err
}

// Delete implements minikcm.LiveCreator.
func (o objects) Delete(ctx context.Context, name string, dryRun bool) error {
	o.mu.Lock()
	i := slices.IndexFunc(o.forks, func(f *running) bool { return f.shown.ID == name })
	if i < 0 || dryRun {
		o.mu.Unlock()
		return nil
	}
	fork := o.forks[i]
	o.mu.Unlock()
	return o.end(ctx, fork)
}
