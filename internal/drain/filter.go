package drain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Options are kubectl drain's options with these names. The pods of DaemonSets always stay, as with
// --ignore-daemonsets.
type Options struct {
	// Force also evicts pods that no controller replaces.
	Force bool `json:"force,omitempty" yaml:"force,omitempty"`
	// DeleteEmptyDirData also evicts pods with emptyDir volumes, whose data is lost.
	DeleteEmptyDirData bool `json:"deleteEmptyDirData,omitempty" yaml:"deleteEmptyDirData,omitempty"`
}

// kubectl's messages.
const (
	localStorageFatal   = "Pods with local storage (use --delete-emptydir-data to override)"
	localStorageWarning = "deleting Pods with local storage"
	unmanagedFatal      = "Pods that declare no controller (use --force to override)"
	unmanagedWarning    = "deleting Pods that declare no controller"
	daemonSetWarning    = "ignoring DaemonSet-managed Pods"
)

// Selection is a drain's decision about the pods of a node.
type Selection struct {
	// Evict are the pods to evict.
	Evict []corev1.Pod
	// Refusals say why the node is not drained at all, and Warnings what is lost or stays; both sorted.
	Refusals, Warnings []string
}

// Err returns the refusals as an error; nil: there are none.
func (s *Selection) Err() error {
	switch len(s.Refusals) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s", s.Refusals[0])
	}
	return fmt.Errorf("[%s]", strings.Join(s.Refusals, ", "))
}

// DaemonSets returns the function by which Select looks for DaemonSets.
func DaemonSets(ctx context.Context, client kubernetes.Interface) func(namespace, name string) (missing bool, err error) {
	return func(namespace, name string) (bool, error) {
		_, err := client.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	}
}

// Select decides about the pods of a node. daemonSet reports whether a DaemonSet is missing.
func Select(pods []corev1.Pod, opts Options, daemonSet func(namespace, name string) (missing bool, err error)) (*Selection, error) {
	s := &selecting{opts: opts, refused: map[string][]string{}, warned: map[string][]string{}}
	for i := range pods {
		if err := s.add(&pods[i], daemonSet); err != nil {
			return nil, err
		}
	}
	for _, message := range slices.Sorted(maps.Keys(s.refused)) {
		s.Refusals = append(s.Refusals, fmt.Sprintf("cannot delete %s: %s", message, strings.Join(s.refused[message], ", ")))
	}
	for _, message := range slices.Sorted(maps.Keys(s.warned)) {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %s", message, strings.Join(s.warned[message], ", ")))
	}
	return &s.Selection, nil
}

type selecting struct {
	opts Options
	Selection
	// refused and warned are pods by message.
	refused, warned map[string][]string
}

// add applies kubectl's filters in its order. Of several warnings about a pod, the last one counts.
func (s *selecting) add(pod *corev1.Pod, daemonSet func(namespace, name string) (bool, error)) error {
	name, warning := pod.Namespace+"/"+pod.Name, ""
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == "apps/v1" && !ended {
		missing, err := daemonSet(pod.Namespace, owner.Name)
		notFound := fmt.Sprintf("daemonsets.apps %q not found", owner.Name)
		switch {
		case err != nil:
			return fmt.Errorf("getting the DaemonSet of pod %s: %w", name, err)
		case !missing:
			s.warned[daemonSetWarning] = append(s.warned[daemonSetWarning], name)
			return nil
		case !s.opts.Force:
			s.refused[notFound] = append(s.refused[notFound], name)
			return nil
		}
		warning = notFound
	}
	if pod.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		return nil
	}
	if !ended && hasEmptyDir(pod) {
		if !s.opts.DeleteEmptyDirData {
			s.refused[localStorageFatal] = append(s.refused[localStorageFatal], name)
			return nil
		}
		warning = localStorageWarning
	}
	if !ended && owner == nil {
		if !s.opts.Force {
			s.refused[unmanagedFatal] = append(s.refused[unmanagedFatal], name)
			return nil
		}
		warning = unmanagedWarning
	}
	if warning != "" {
		s.warned[warning] = append(s.warned[warning], name)
	}
	s.Evict = append(s.Evict, *pod)
	return nil
}

func hasEmptyDir(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
}
