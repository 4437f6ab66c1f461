package staticpods

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// The annotations of mirror pods, as the kubelet writes them ("Create static Pods" in the
// Kubernetes documentation). AnnotationHash identifies the static pod: its manifest, its file
// and its node. The annotation corev1.MirrorPodAnnotationKey has the same value.
const (
	AnnotationHash   = "kubernetes.io/config.hash"
	AnnotationSource = "kubernetes.io/config.source"
)

// sourceFile is the source of manifests in a folder of the node.
const sourceFile = "file"

// On returns the mirror pods of the folder's manifests on a node, none if the node does not have
// the folder.
func (f *Folder) On(node *corev1.Node) ([]*corev1.Pod, error) {
	if !f.nodes.Matches(labels.Set(node.Labels)) {
		return nil, nil
	}
	mirrors := make([]*corev1.Pod, 0, len(f.manifests))
	for i := range f.manifests {
		mirror, err := f.mirror(&f.manifests[i], node)
		if err != nil {
			return nil, err
		}
		mirrors = append(mirrors, mirror)
	}
	return mirrors, nil
}

// mirror returns the mirror pod of a manifest: named after its node, bound to it, owned by it, and
// with a toleration for every taint that would evict it.
func (f *Folder) mirror(m *manifest, node *corev1.Node) (*corev1.Pod, error) {
	source := f.name.String() + "/" + m.key
	hash, err := hashOf(m.pod, node.Name, source)
	if err != nil {
		return nil, err
	}
	pod := m.pod.DeepCopy()
	pod.Name = m.pod.Name + "-" + strings.ToLower(node.Name)
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	pod.Status = corev1.PodStatus{}
	pod.Spec.NodeName = node.Name
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[AnnotationHash] = hash
	pod.Annotations[AnnotationSource] = sourceFile
	pod.Annotations[podspec.AnnotationManifest] = source
	pod.Annotations[corev1.MirrorPodAnnotationKey] = hash
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: ptr.To(true)}}
	return pod, nil
}

// hashOf returns the hash of a static pod: 128 bits in hexadecimal, as the kubelet's.
func hashOf(pod *corev1.Pod, node, source string) (string, error) {
	data, err := json.Marshal(pod)
	if err != nil {
		return "", fmt.Errorf("encoding static pod %s: %w", pod.Name, err)
	}
	h := sha256.New()
	_, _ = h.Write(data) // never fails
	_, _ = fmt.Fprintf(h, "host:%sfile:%s", node, source)
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
