package decide

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// SplitOrdinal splits the name of a pod or a claim into the part before the last dash and
// the ordinal after it.
func SplitOrdinal(name string) (string, int, bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 {
		return "", 0, false
	}
	digits := name[dash+1:]
	ordinal, err := strconv.ParseInt(digits, 10, 32)
	// Only the canonical form is accepted: no sign, no leading zero.
	if err != nil || digits[0] < '0' || digits[0] == '0' && len(digits) > 1 {
		return "", 0, false
	}
	return name[:dash], int(ordinal), true
}

// member returns the pod's ordinal, if the pod's name is one that the set assigns.
func member(set *appsv1.StatefulSet, pod *corev1.Pod) (int, bool) {
	parent, ordinal, ok := SplitOrdinal(pod.Name)
	return ordinal, ok && parent == set.Name
}

// claimPods sorts the candidates as controllerref.Claim does. A pod belongs to the set only if its
// name matches as well as its labels.
func claimPods(set *appsv1.StatefulSet, selector labels.Selector, candidates []*corev1.Pod) controllerref.Claims[*corev1.Pod] {
	var members, strangers []*corev1.Pod
	for _, pod := range candidates {
		if _, ok := member(set, pod); ok {
			members = append(members, pod)
		} else if controllerref.ControllerUID(pod) == set.UID {
			strangers = append(strangers, pod)
		}
	}
	claims := controllerref.Claim(set, selector, members)
	if set.DeletionTimestamp == nil {
		claims.Release = append(claims.Release, strangers...)
	}
	return claims
}

func replicas(set *appsv1.StatefulSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

// start returns the first ordinal.
func start(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

// inRange reports whether the set wants a pod of that ordinal.
func inRange(set *appsv1.StatefulSet, ordinal int) bool {
	return ordinal >= start(set) && ordinal < start(set)+replicas(set)
}

func podName(set *appsv1.StatefulSet, ordinal int) string {
	return set.Name + "-" + strconv.Itoa(ordinal)
}
