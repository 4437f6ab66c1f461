package controllerref

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

// TemplateHash returns the hash that identifies a revision of a template. It equals
// upstream's, so that names are the same as in a real cluster. The collision count changes the
// hash when its name is taken.
func TemplateHash(template *corev1.PodTemplateSpec, collisions *int32) string {
	hash := fnv.New32a()
	// A write to a hash never fails.
	_, _ = hash.Write([]byte(dump.ForHash(*template)))
	if collisions != nil {
		count := make([]byte, 8)
		binary.LittleEndian.PutUint32(count, uint32(*collisions))
		_, _ = hash.Write(count)
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// PodOf returns a pod of the template, controlled by owner. Its generateName is the owner's
// name and a dash, or the name alone if that would not be a valid name.
func PodOf(template *corev1.PodTemplateSpec, owner metav1.Object, kind schema.GroupVersionKind) *corev1.Pod {
	prefix := owner.GetName() + "-"
	if len(validation.NameIsDNSSubdomain(prefix, true)) > 0 {
		prefix = owner.GetName()
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    prefix,
			Namespace:       owner.GetNamespace(),
			Labels:          maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}
