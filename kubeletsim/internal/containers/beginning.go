package containers

import (
	"context"
	"fmt"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// beginning holds the ConfigMaps and Secrets that a run of a container read when it began, and uses until it ends: for its
// environment, and for volumes that it mounts by a sub-path. Volumes that it mounts as a whole follow their sources.
type beginning struct {
	id string
	// pod is the pod's object when the run began.
	pod     *corev1.Pod
	sources map[source]content
}

// source is a ConfigMap or a Secret of the pod's namespace.
type source struct {
	secret bool
	name   string
}

// content holds the values of a source. Equal values of all pods are kept once. assumed means that nothing is known of them.
type content struct {
	values  map[string]unique.Handle[string]
	assumed bool
}

func contentOf(data map[string][]byte, assumed bool) content {
	c := content{values: make(map[string]unique.Handle[string], len(data)), assumed: assumed}
	for key, value := range data {
		c.values[key] = unique.Make(string(value))
	}
	return c
}

func (c content) data() map[string][]byte {
	data := make(map[string][]byte, len(c.values))
	for key, value := range c.values {
		data[key] = []byte(value.Value())
	}
	return data
}

// keepBeginnings reads, for containers that have started by state, what they see until they end. What cannot be read now is
// looked for again in the next sync, and is seen as it is until then.
func (rt *Runtime) keepBeginnings(ctx context.Context, n *nodes.Node, e Pod, pod *corev1.Pod, state *lifecycle.State) {
	files := e.Files()
	for _, ref := range readers(pod) {
		for i := range state.Containers {
			c := &state.Containers[i]
			if c.Name != ref.Name || c.Phase != lifecycle.Running {
				continue
			}
			in := &Ref{runtime: rt, node: n, entry: e, pod: pod, spec: ref.Container, id: lifecycle.ContainerID(podspec.RuntimeUID(pod), c.Name, c.Restarts)}
			if files.beginning(in.spec.Name, in.id) != nil {
				continue
			}
			if b, err := in.begin(rt.opts.AsNode(ctx, n.Name)); err == nil {
				files.keepBeginning(in.spec.Name, b)
			}
		}
	}
}

// readers returns the containers of a pod that see something as it was at their start.
func readers(pod *corev1.Pod) []podspec.Container {
	if !anyReads(pod) {
		return nil // without an allocation: most pods are of this kind
	}
	var found []podspec.Container
	for _, ref := range podspec.Containers(pod) {
		if reads(pod, ref.Env, ref.EnvFrom, ref.VolumeMounts) {
			found = append(found, ref)
		}
	}
	return found
}

func anyReads(pod *corev1.Pod) bool {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if c := &list[i]; reads(pod, c.Env, c.EnvFrom, c.VolumeMounts) {
				return true
			}
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; reads(pod, c.Env, c.EnvFrom, c.VolumeMounts) {
			return true
		}
	}
	return false
}

func reads(pod *corev1.Pod, env []corev1.EnvVar, from []corev1.EnvFromSource, mounts []corev1.VolumeMount) bool {
	if len(from) > 0 {
		return true
	}
	for i := range env {
		switch from := env[i].ValueFrom; {
		case from == nil:
		case from.ConfigMapKeyRef != nil, from.SecretKeyRef != nil, from.ResourceFieldRef != nil:
			return true
		case from.FieldRef != nil && (strings.HasPrefix(from.FieldRef.FieldPath, "metadata.labels[") || strings.HasPrefix(from.FieldRef.FieldPath, "metadata.annotations[")):
			return true
		}
	}
	for i := range mounts {
		if bySubPath(&mounts[i]) && isProjected(volumeOf(pod, mounts[i].Name)) {
			return true
		}
	}
	return false
}

// bySubPath reports whether a mount shows a part of its volume. It keeps the file of its start, where a whole volume is a link
// to the present files.
func bySubPath(mount *corev1.VolumeMount) bool { return mount.SubPath != "" || mount.SubPathExpr != "" }

// isProjected reports whether a volume shows objects of the API.
func isProjected(v *corev1.Volume) bool {
	return v != nil && (v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil)
}

func volumeOf(pod *corev1.Pod, name string) *corev1.Volume {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Name == name {
			return v
		}
	}
	return nil
}

// begin reads the sources.
func (in *Ref) begin(ctx context.Context) (*beginning, error) {
	b := &beginning{id: in.id, pod: in.pod, sources: map[source]content{}}
	for _, s := range in.sources() {
		data, assumed, err := in.data(ctx, s.secret, s.name, nil)
		switch {
		case apierrors.IsNotFound(err):
			b.sources[s] = content{} // it is optional
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", s.name, err)
		default:
			b.sources[s] = contentOf(data, assumed)
		}
	}
	return b, nil
}

// sources returns the ConfigMaps and Secrets that the container reads at its start.
func (in *Ref) sources() []source {
	var found []source
	for _, from := range in.spec.EnvFrom {
		switch {
		case from.ConfigMapRef != nil:
			found = append(found, source{false, from.ConfigMapRef.Name})
		case from.SecretRef != nil:
			found = append(found, source{true, from.SecretRef.Name})
		}
	}
	for i := range in.spec.Env {
		switch from := in.spec.Env[i].ValueFrom; {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			found = append(found, source{false, from.ConfigMapKeyRef.Name})
		case from.SecretKeyRef != nil:
			found = append(found, source{true, from.SecretKeyRef.Name})
		}
	}
	for i := range in.spec.VolumeMounts {
		if v := volumeOf(in.pod, in.spec.VolumeMounts[i].Name); bySubPath(&in.spec.VolumeMounts[i]) && v != nil {
			found = append(found, sourcesOf(v)...)
		}
	}
	return found
}

func sourcesOf(v *corev1.Volume) []source {
	switch {
	case v.ConfigMap != nil:
		return []source{{false, v.ConfigMap.Name}}
	case v.Secret != nil:
		return []source{{true, v.Secret.SecretName}}
	case v.Projected == nil:
		return nil
	}
	var found []source
	for _, s := range v.Projected.Sources {
		switch {
		case s.ConfigMap != nil:
			found = append(found, source{false, s.ConfigMap.Name})
		case s.Secret != nil:
			found = append(found, source{true, s.Secret.Name})
		}
	}
	return found
}

// atStart returns a reference that reads what its run has read when it began; itself if nothing of that can change.
func (in *Ref) atStart() *Ref {
	b := in.entry.Files().beginning(in.spec.Name, in.id)
	if b == nil {
		return in
	}
	then := *in
	then.began, then.pod = b, b.pod
	return &then
}

// beginning returns what the run with the ID has read; nil if nothing is kept of it.
func (f *Files) beginning(name, id string) *beginning {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.beginnings[name]; b != nil && b.id == id {
		return b
	}
	return nil
}

func (f *Files) keepBeginning(name string, b *beginning) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.beginnings == nil {
		f.beginnings = map[string]*beginning{}
	}
	f.beginnings[name] = b
}
