package gatewayrunner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/network/gateways"
	"minikcm.dev/minikcm/internal/network/routes"
)

// execute writes the Services and the statuses that differ from what was decided.
func (r *Runner) execute(ctx context.Context, result *gateways.Result) error {
	r.mu.Lock()
	objects := maps.Clone(r.objects)
	r.mu.Unlock()
	var failed []error
	for _, o := range objects[gateways.ClassKind] {
		if wanted, ok := result.Classes[o.GetName()]; ok {
			failed = append(failed, r.write(ctx, o, gateways.ClassResource, func(was *gateways.Class) map[string]any { return r.classStatus(was, wanted) }))
		}
	}
	for _, o := range objects[gateways.GatewayKind] {
		wanted, ok := result.Gateways[loop.KeyOf(o)]
		if !ok {
			continue
		}
		if wanted.Service != nil {
			failed = append(failed, r.provide(ctx, wanted.Service))
		}
		failed = append(failed, r.write(ctx, o, gateways.GatewayResource, func(was *gateways.Gateway) map[string]any { return r.gatewayStatus(was, &wanted.Status) }))
	}
	for _, o := range objects[gateways.RouteKind] {
		wanted := result.Routes[loop.KeyOf(o)]
		failed = append(failed, r.write(ctx, o, gateways.RouteResource, func(was *gateways.Route) map[string]any { return r.routeStatus(was, wanted) }))
	}
	return errors.Join(failed...)
}

// merged returns the conditions with those that are wanted. A condition whose status stays keeps its time.
func (r *Runner) merged(was, wanted []metav1.Condition) []metav1.Condition {
	all := slices.Clone(was)
	for _, c := range wanted {
		c.LastTransitionTime = metav1.NewTime(r.opts.Clock.Now())
		i := slices.IndexFunc(all, func(other metav1.Condition) bool { return other.Type == c.Type })
		switch {
		case i < 0:
			all = append(all, c)
		case all[i].Status == c.Status:
			c.LastTransitionTime = all[i].LastTransitionTime
			fallthrough
		default:
			all[i] = c
		}
	}
	return all
}

// classStatus returns the status of a class. Definitions before 1.4 of the API drop the features, so that their lack alone is no reason to write.
func (r *Runner) classStatus(was *gateways.Class, wanted []metav1.Condition) map[string]any {
	conditions := r.merged(was.Status.Conditions, wanted)
	status := map[string]any{"conditions": conditions}
	if len(was.Status.SupportedFeatures) > 0 || !apiequality.Semantic.DeepEqual(was.Status.Conditions, conditions) {
		status["supportedFeatures"] = gateways.Features()
	}
	return status
}

func (r *Runner) gatewayStatus(was *gateways.Gateway, wanted *gateways.GatewayStatus) map[string]any {
	listeners := slices.Clone(wanted.Listeners)
	for i := range listeners {
		var before []metav1.Condition
		for _, l := range was.Status.Listeners {
			if l.Name == listeners[i].Name {
				before = l.Conditions
			}
		}
		listeners[i].Conditions = r.merged(before, listeners[i].Conditions)
	}
	return map[string]any{"addresses": wanted.Addresses, "conditions": r.merged(was.Status.Conditions, wanted.Conditions), "listeners": listeners}
}

// routeStatus returns the statuses at the Gateways of other controllers as they are, and the wanted ones; nil if there is nothing to write.
func (r *Runner) routeStatus(was *gateways.Route, wanted []gateways.ParentStatus) map[string]any {
	parents := slices.DeleteFunc(slices.Clone(was.Status.Parents), func(p gateways.ParentStatus) bool { return p.ControllerName == routes.Controller })
	if len(wanted) == 0 && len(parents) == len(was.Status.Parents) {
		return nil
	}
	for _, w := range wanted {
		for _, p := range was.Status.Parents {
			if p.ControllerName == routes.Controller && apiequality.Semantic.DeepEqual(p.ParentRef, w.ParentRef) {
				w.Conditions = r.merged(p.Conditions, w.Conditions)
			}
		}
		w.Conditions = r.merged(nil, w.Conditions)
		parents = append(parents, w)
	}
	if parents == nil {
		parents = []gateways.ParentStatus{}
	}
	return map[string]any{"parents": parents}
}

// write writes the fields of the status of an object that differ.
func (r *Runner) write(ctx context.Context, o *unstructured.Unstructured, resource string, status any) error {
	var fields map[string]any
	var err error
	switch of := status.(type) {
	case func(*gateways.Class) map[string]any:
		fields, err = statusOf(o, of)
	case func(*gateways.Gateway) map[string]any:
		fields, err = statusOf(o, of)
	case func(*gateways.Route) map[string]any:
		fields, err = statusOf(o, of)
	}
	if err != nil {
		return err
	}
	changed := o.DeepCopy()
	for name, value := range fields {
		if list, ok := value.([]any); ok && len(list) == 0 && name == "addresses" {
			unstructured.RemoveNestedField(changed.Object, "status", name)
			continue
		}
		if err := unstructured.SetNestedField(changed.Object, value, "status", name); err != nil {
			return fmt.Errorf("setting the status of %s %s: %w", o.GetKind(), loop.KeyOf(o), err)
		}
	}
	if apiequality.Semantic.DeepEqual(o.Object["status"], changed.Object["status"]) {
		return nil
	}
	_, err = r.opts.Client.Resource(o.GroupVersionKind().GroupVersion().WithResource(resource)).Namespace(o.GetNamespace()).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the status of %s %s: %w", o.GetKind(), loop.KeyOf(o), err)
	}
	return nil
}

// statusOf returns the fields of a status as the API has them.
func statusOf[T any](o *unstructured.Unstructured, status func(*T) map[string]any) (map[string]any, error) {
	var all []*T
	if err := typed([]*unstructured.Unstructured{o}, &all); err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for name, value := range status(all[0]) {
		holder := struct {
			Value any `json:"value"`
		}{value}
		encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&holder)
		if err != nil {
			return nil, fmt.Errorf("encoding the status of %s %s: %w", o.GetKind(), loop.KeyOf(o), err)
		}
		fields[name] = encoded["value"]
		if fields[name] == nil {
			fields[name] = []any{}
		}
	}
	return fields, nil
}

// provide creates the Service of a Gateway, or changes it as the Gateway says.
func (r *Runner) provide(ctx context.Context, wanted *corev1.Service) error {
	client, name := r.client.CoreV1().Services(wanted.Namespace), loop.KeyOf(wanted)
	existing, err := r.opts.Informers.Services().Lister().Services(wanted.Namespace).Get(wanted.Name)
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, wanted, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // its event comes
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("creating Service %s: %w", name, err)
	}
	if existing == nil || existing.UID == "" {
		return nil
	}
	if !slices.ContainsFunc(existing.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == wanted.OwnerReferences[0].UID }) {
		if existing.Annotations[routes.Annotation] == wanted.Annotations[routes.Annotation] {
			return nil // of an earlier Gateway of the name: it will be deleted, which is an event
		}
		return fmt.Errorf("the Service %s exists and is not the Gateway's", name)
	}
	changed := existing.DeepCopy()
	for key, value := range wanted.Labels {
		metav1.SetMetaDataLabel(&changed.ObjectMeta, key, value)
	}
	for key, value := range wanted.Annotations {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	}
	changed.Spec.Ports = slices.Clone(wanted.Spec.Ports)
	for i := range changed.Spec.Ports {
		for _, p := range existing.Spec.Ports {
			if p.Port == changed.Spec.Ports[i].Port {
				changed.Spec.Ports[i].NodePort = p.NodePort
			}
		}
	}
	changed.Spec.LoadBalancerIP = wanted.Spec.LoadBalancerIP
	if apiequality.Semantic.DeepEqual(existing, changed) {
		return nil
	}
	if _, err := client.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("changing Service %s: %w", name, err)
	}
	return nil
}
