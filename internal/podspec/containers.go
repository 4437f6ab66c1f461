package podspec

import (
	corev1 "k8s.io/api/core/v1"
)

type Kind int

const (
	InitContainer Kind = iota
	SidecarContainer
	AppContainer
	EphemeralContainer
)

// Container is a container of a pod's spec with its kind.
type Container struct {
	*corev1.Container
	Kind Kind
}

// FieldPath is the container's path in the pod, as events refer to it.
func (r Container) FieldPath() string {
	list := "containers"
	switch r.Kind {
	case InitContainer, SidecarContainer:
		list = "initContainers"
	case EphemeralContainer:
		list = "ephemeralContainers"
	}
	return "spec." + list + "{" + r.Name + "}"
}

// Containers lists a pod's containers: init containers and sidecars, app containers, ephemeral
// containers.
func Containers(pod *corev1.Pod) []Container {
	spec := &pod.Spec
	refs := make([]Container, 0, len(spec.InitContainers)+len(spec.Containers)+len(spec.EphemeralContainers))
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		kind := InitContainer
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			kind = SidecarContainer
		}
		refs = append(refs, Container{c, kind})
	}
	for i := range spec.Containers {
		refs = append(refs, Container{&spec.Containers[i], AppContainer})
	}
	for i := range spec.EphemeralContainers {
		c := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		refs = append(refs, Container{&c, EphemeralContainer})
	}
	return refs
}

func CommandLine(command, args []string) []string {
	if len(args) == 0 {
		return command
	}
	return append(command[:len(command):len(command)], args...)
}
