package scheduling

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// addOwners adds services and controllers of pods, which the default constraints spread.
func (g *generator) addOwners() {
	for _, namespace := range g.namespaces {
		if g.chance(40) {
			s := &corev1.Service{ObjectMeta: g.meta(namespace, "service")}
			s.Spec.Selector = map[string]string{"app": pick(g, "web", "db")}
			if g.chance(30) {
				s.Spec.Selector["tier"] = "front"
			}
			if g.chance(10) {
				s.Spec.Selector = nil
			}
			g.add(s)
		}
		for _, kind := range []string{"ReplicaSet", "StatefulSet", "ReplicationController"} {
			if g.chance(30) {
				g.addOwner(namespace, kind)
			}
		}
	}
}

func (g *generator) addOwner(namespace, kind string) {
	set := map[string]string{"app": pick(g, "web", "db", "cache"), "version": pick(g, "1", "2")}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(set)}}
	selector := &metav1.LabelSelector{MatchLabels: maps.Clone(set)}
	if g.chance(20) {
		selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{set["app"], "other"}}}}
	}
	var o runtime.Object
	var m metav1.ObjectMeta
	version := "apps/v1"
	switch kind {
	case "ReplicaSet":
		m = g.meta(namespace, "rs")
		o = &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}}
	case "StatefulSet":
		m = g.meta(namespace, "sts")
		o = &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}}
	default:
		m, version = g.meta(namespace, "rc"), "v1"
		o = &corev1.ReplicationController{ObjectMeta: m, Spec: corev1.ReplicationControllerSpec{Selector: set, Template: &template}}
	}
	g.add(o)
	g.owners[namespace] = append(g.owners[namespace], owner{
		ref: metav1.OwnerReference{APIVersion: version, Kind: kind, Name: m.Name, UID: m.UID, Controller: ptr.To(true)}, labels: set,
	})
}
