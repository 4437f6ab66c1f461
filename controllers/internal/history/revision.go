package history

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Data returns the data of a revision of the template: a strategic merge patch of a
// workload that replaces its template. kubectl compares it byte by byte.
func Data(template *corev1.PodTemplateSpec) ([]byte, error) {
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encoding a pod template: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("reading an encoded pod template: %w", err)
	}
	fields["$patch"] = "replace"
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
	if err != nil {
		return nil, fmt.Errorf("encoding a patch of a pod template: %w", err)
	}
	return patch, nil
}

// Template returns the template that the revision holds.
func Template(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var patch struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &patch); err != nil {
		return nil, fmt.Errorf("reading ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return &patch.Spec.Template, nil
}

// Hash returns the hash of a revision's data. The collision count changes the hash when its
// name is taken.
func Hash(data []byte, collisions int32) string {
	hash := fnv.New32()
	// A write to a hash never fails.
	_, _ = hash.Write(data)
	_, _ = hash.Write([]byte(strconv.FormatInt(int64(collisions), 10)))
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// Newborn describes a revision to create.
type Newborn struct {
	Owner     metav1.Object
	OwnerKind schema.GroupVersionKind
	Data      []byte
	// Labels are the template's labels. Revision adds HashLabel with the value Hash.
	Labels          map[string]string
	HashLabel, Hash string
}

// Revision returns the revision, without a number. It copies the owner's annotations, from
// which kubectl reads the cause of a change.
func (n Newborn) Revision() *appsv1.ControllerRevision {
	labels := maps.Clone(n.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[n.HashLabel] = n.Hash
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:            n.Owner.GetName() + "-" + n.Hash,
			Namespace:       n.Owner.GetNamespace(),
			Labels:          labels,
			Annotations:     maps.Clone(n.Owner.GetAnnotations()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(n.Owner, n.OwnerKind)},
		},
		Data: runtime.RawExtension{Raw: n.Data},
	}
}
