package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/hostaddress"
)

// led is a Service that leads to the command.
type led struct {
	name string
	// value is the annotation that the runner has set, before is the annotation that it replaced;
	// nil: there was none.
	value  string
	before *string
}

// leadServices leads the Services that select the Deployment's pods to the command. A Service is
// changed once, so that users can change it back.
func (r *runner) leadServices(ctx context.Context, deployment *appsv1.Deployment) error {
	services, err := r.services.Services(r.opts.Namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	for _, service := range services {
		value := addressesOf(service, &deployment.Spec.Template, r.opts.Ports)
		if _, known := r.led[service.UID]; known || value == "" || service.DeletionTimestamp != nil {
			continue
		}
		l := &led{name: service.Name, value: value}
		if before, had := service.Annotations[hostaddress.Annotation]; had && (before != value || !r.takesOver) {
			l.before = &before
		}
		if err := r.annotateService(ctx, service.UID, l.name, &value); err != nil {
			return fmt.Errorf("leading service/%s to the command: %w", service.Name, err)
		}
		r.led[service.UID] = l
		r.say("service/%s leads to %s", service.Name, value)
	}
	return nil
}

// releaseServices gives the Services the annotations that they had.
func (r *runner) releaseServices(ctx context.Context) (failed []error) {
	for uid, l := range r.led {
		now, err := r.client.CoreV1().Services(r.opts.Namespace).Get(ctx, l.name, metav1.GetOptions{})
		if err == nil && now.UID == uid && now.Annotations[hostaddress.Annotation] == l.value {
			err = r.annotateService(ctx, uid, l.name, l.before)
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("leading service/%s back to its pods: %w", l.name, err))
		}
	}
	return failed
}

func (r *runner) annotateService(ctx context.Context, uid types.UID, name string, value *string) error {
	patch := annotating(uid, map[string]*string{hostaddress.Annotation: value})
	_, err := r.client.CoreV1().Services(r.opts.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// marked records the annotation that the runner wants on a pod: the addresses to which its ports lead. written is false if the pod had
// another one before, which it keeps.
type marked struct {
	addresses string
	written   bool
}

// mark writes on a pod which process stands for its container, and leads its ports there. A pod
// that leads somewhere already keeps that.
func (r *runner) mark(ctx context.Context, pod *corev1.Pod) error {
	services, err := r.services.Services(pod.Namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	value := podAddresses(pod, r.container, services, r.opts.Ports)
	last, known := r.marked[pod.UID]
	if known && last.addresses == value {
		return nil
	}
	r.warn(pod, value)
	annotations := map[string]*string{ProcessAnnotation: &r.owner}
	before, led := pod.Annotations[hostaddress.Annotation]
	written := value != "" && (!led || before == value || last.written && before == last.addresses)
	if written {
		annotations[hostaddress.Annotation] = &value
		if r.opts.SimulatedProbes {
			annotations[hostaddress.ProbesAnnotation] = ptr.To(hostaddress.SimulatedProbes)
		}
	}
	if err := r.annotatePod(ctx, pod, annotations); err != nil {
		return err
	}
	r.marked[pod.UID] = marked{value, written}
	return nil
}

// warn says which ports of this machine stand for another pod already.
func (r *runner) warn(pod *corev1.Pod, value string) {
	own, err := hostaddress.Parse(value)
	pods, listErr := r.pods.List(labels.Everything())
	if err != nil || listErr != nil {
		return // it leads nowhere
	}
	for _, other := range pods {
		led, err := hostaddress.Parse(other.Annotations[hostaddress.Annotation])
		if err != nil || other.UID == pod.UID || other.DeletionTimestamp != nil {
			continue
		}
		for _, address := range own.All() {
			if slices.Contains(led.All(), address) {
				r.say("%s stands for pod/%s, too: two commands cannot listen there, --port CONTAINERPORT=PORT chooses another", address, other.Name)
			}
		}
	}
}

// unmark removes the annotations that mark wrote.
func (r *runner) unmark(ctx context.Context, pod *corev1.Pod) error {
	annotations := map[string]*string{ProcessAnnotation: nil}
	if last := r.marked[pod.UID]; last.written && pod.Annotations[hostaddress.Annotation] == last.addresses {
		annotations[hostaddress.Annotation] = nil
		if r.opts.SimulatedProbes {
			annotations[hostaddress.ProbesAnnotation] = nil
		}
	}
	return r.annotatePod(ctx, pod, annotations)
}

func (r *runner) annotatePod(ctx context.Context, pod *corev1.Pod, annotations map[string]*string) error {
	_, err := r.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, annotating(pod.UID, annotations), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is another pod by now
	}
	return err
}

// annotating returns a patch that sets annotations of the object with the UID, or removes those
// whose value is nil.
func annotating(uid types.UID, annotations map[string]*string) []byte {
	patch, _ := json.Marshal(map[string]any{ // of strings only
		"metadata": map[string]any{"uid": uid, "annotations": annotations},
	})
	return patch
}
