package staticpods

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/podspec"
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
func (f *Folder) On(node *corev1.Node) []*corev1.Pod {
	var mirrors []*corev1.Pod
	for i := range f.of(node) {
		mirrors = append(mirrors, f.manifests[i].mirror(node))
	}
	return mirrors
}

// Hashes returns the hashes of these mirror pods, which take less to compute.
func (f *Folder) Hashes(node *corev1.Node) []string {
	var hashes []string
	for i := range f.of(node) {
		hashes = append(hashes, f.manifests[i].hash(node.Name))
	}
	return hashes
}

// of returns the manifests that a node has of the folder: all or none.
func (f *Folder) of(node *corev1.Node) []manifest {
	if !f.nodes.Matches(labels.Set(node.Labels)) {
		return nil
	}
	return f.manifests
}

// mirror returns the mirror pod of a manifest: named after its node, bound to it, owned by it, and
// with a toleration for every taint that would evict it.
func (m *manifest) mirror(node *corev1.Node) *corev1.Pod {
	hash := m.hash(node.Name)
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
	pod.Annotations[podspec.AnnotationManifest] = m.source
	pod.Annotations[corev1.MirrorPodAnnotationKey] = hash
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: ptr.To(true)}}
	return pod
}

// hash returns the hash of the static pod on a node: 128 bits in hexadecimal, as the kubelet's.
func (m *manifest) hash(node string) string {
	h := sha256.New()
	_, _ = h.Write(m.encoded) // never fails
	_, _ = fmt.Fprintf(h, "host:%sfile:%s", node, m.source)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
