package staticpods

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// LabelStaticPods marks a ConfigMap, in any namespace and with any value, as a folder of
// manifests: each key has one or more YAML or JSON documents of kind Pod.
const LabelStaticPods = "minikcm.dev/static-pods"

// AnnotationNodeSelector is a label selector for the nodes that have the manifests of a
// ConfigMap. Without it, all simulated nodes have them.
const AnnotationNodeSelector = "minikcm.dev/node-selector"

// maxPods bounds the static pods of one ConfigMap. A kubelet runs 110 pods by default.
const maxPods = 110

// Folder is the manifests of one ConfigMap, and the nodes that have them.
type Folder struct {
	name      types.NamespacedName
	nodes     labels.Selector
	manifests []manifest
}

// manifest is a static pod as it is written, and its encoding for hashes.
type manifest struct {
	// source is the namespace and name of the ConfigMap, and the key.
	source  string
	pod     *corev1.Pod
	encoded []byte
}

// IsFolder reports whether a ConfigMap has manifests of static pods.
func IsFolder(c *corev1.ConfigMap) bool {
	_, marked := c.Labels[LabelStaticPods]
	return marked
}

// Parse reads a ConfigMap for which IsFolder holds. The error says what is wrong with it; the
// folder then lacks the manifests that cannot be read, and matches no node if its selector is
// invalid.
func Parse(c *corev1.ConfigMap) (*Folder, error) {
	f := &Folder{name: types.NamespacedName{Namespace: c.Namespace, Name: c.Name}, nodes: labels.Everything()}
	var problems []error
	if written, ok := c.Annotations[AnnotationNodeSelector]; ok {
		selector, err := labels.Parse(written)
		if err != nil {
			selector = labels.Nothing()
			problems = append(problems, fmt.Errorf("annotation %s: %w", AnnotationNodeSelector, err))
		}
		f.nodes = selector
	}
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		if err := f.add(key, c.Data[key]); err != nil {
			problems = append(problems, fmt.Errorf("key %s: %w", key, err))
		}
	}
	return f, errors.Join(problems...)
}

// add reads the documents of a key up to the first that is no manifest.
func (f *Folder) add(key, data string) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		pod, err := decode(document)
		switch {
		case err != nil:
			return err
		case pod == nil:
			continue
		case len(f.manifests) == maxPods:
			return fmt.Errorf("the ConfigMap has more than %d static pods", maxPods)
		}
		encoded, err := json.Marshal(pod)
		if err != nil {
			return fmt.Errorf("encoding static pod %s: %w", pod.Name, err)
		}
		f.manifests = append(f.manifests, manifest{f.name.String() + "/" + key, pod, encoded})
	}
}

// decode returns the Pod of a document; nil if the document is empty.
func decode(document []byte) (*corev1.Pod, error) {
	encoded, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	if string(encoded) == "null" {
		return nil, nil // it is said above
	}
	pod := &corev1.Pod{}
	strict, err := kjson.UnmarshalStrict(encoded, pod)
	if err := errors.Join(append(strict, err)...); err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	switch {
	case pod.APIVersion != "v1" || pod.Kind != "Pod":
		return nil, fmt.Errorf("a manifest has apiVersion %q and kind %q, where static pods have v1 and Pod", pod.APIVersion, pod.Kind)
	case pod.Name == "":
		return nil, errors.New("a manifest has no metadata.name")
	}
	return pod, nil
}
