package quota

import corev1 "k8s.io/api/core/v1"

// Lowers reports whether now shows less usage of anything than was.
func Lowers(now, was corev1.ResourceList) bool {
	for name, before := range was {
		if after, known := now[name]; known && after.Cmp(before) < 0 {
			return true
		}
	}
	return false
}
