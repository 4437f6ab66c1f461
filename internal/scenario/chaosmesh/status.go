package chaosmesh

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// patch changes fields of an object's status. It ignores an object that no longer exists.
func (c *Controller) patch(ctx context.Context, object *unstructured.Unstructured, status map[string]any) {
	data, err := json.Marshal(map[string]any{"status": status})
	if err == nil {
		_, err = c.dynamic.Resource(resourceOf(object.GetKind())).Namespace(object.GetNamespace()).
			Patch(ctx, object.GetName(), types.MergePatchType, data, metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		c.logger.Error(err, "Writing the status of an experiment", "object", klog.KObj(object))
	}
}

// event creates an Event about an object.
func (c *Controller) event(ctx context.Context, object *unstructured.Unstructured, kind, reason, message string) {
	now := metav1.NewTime(c.cluster.Clock().Now())
	_, err := c.client.CoreV1().Events(object.GetNamespace()).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: object.GetName() + "." + c.random.Suffix(10), Namespace: object.GetNamespace()},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: Group + "/" + Version, Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		},
		Type: kind, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: "chaos-mesh"}, ReportingController: "chaos-mesh",
	}, metav1.CreateOptions{})
	if err != nil && ctx.Err() == nil {
		c.logger.Error(err, "Reporting about an experiment", "object", klog.KObj(object))
	}
}

// failed reports why an object cannot be run, in its status and by an event.
func (c *Controller) failed(ctx context.Context, object *unstructured.Unstructured, err error) {
	c.event(ctx, object, corev1.EventTypeWarning, "Failed", err.Error())
	kind := "Selected"
	if object.GetKind() == KindWorkflow {
		kind = "Scheduled"
	}
	c.patch(ctx, object, map[string]any{"conditions": []any{map[string]any{"type": kind, "status": "False", "reason": err.Error()}}})
}
