package services

import (
	"context"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/reference"

	"minikcm.dev/minikcm/apiserver/internal/serviceip"
)

// report records a finding of the Services' repair as an event. Repeated
// findings update the same event's series.
func (s *Services) report(ctx context.Context, r serviceip.Report) {
	if err := s.writeReport(ctx, r); err != nil && ctx.Err() == nil {
		s.opts.Logger.Error(err, "Recording an event", "reason", r.Reason, "note", r.Note)
	}
}

func (s *Services) writeReport(ctx context.Context, r serviceip.Report) error {
	client, err := kubernetes.NewForConfig(s.opts.Client())
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	regarding, err := reference.GetReference(s.opts.Scheme, r.About)
	if err != nil {
		return fmt.Errorf("referring to what the event is about: %w", err)
	}
	now, namespace := metav1.NewMicroTime(s.opts.Clock.Now()), regarding.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(string(regarding.UID) + r.Reason + r.Note))
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%016x", regarding.Name, hash.Sum64())},
		EventTime:  now, ReportingController: r.Component, ReportingInstance: r.Component,
		Action: r.Action, Reason: r.Reason, Note: r.Note, Type: corev1.EventTypeWarning, Regarding: *regarding,
	}
	recorded := client.EventsV1().Events(namespace)
	if _, err = recorded.Create(ctx, event, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return err
	}
	before, err := recorded.Get(ctx, event.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	count := int32(2)
	if before.Series != nil {
		count = before.Series.Count + 1
	}
	patch := fmt.Sprintf(`{"series":{"count":%d,"lastObservedTime":%q}}`, count, now.UTC().Format(metav1.RFC3339Micro))
	_, err = recorded.Patch(ctx, event.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
