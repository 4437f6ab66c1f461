package images

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// FilesOf returns the files that podspec.AnnotationFiles declares for a container, by path.
func FilesOf(pod *corev1.Pod, ref podspec.Container) map[string]File {
	text, ok := podspec.Annotations{Pod: pod, Container: ref.Name, NamedOnly: ref.Kind == podspec.InitContainer}.Get(podspec.AnnotationFiles)
	if !ok {
		return nil
	}
	files := map[string]File{}
	for line := range strings.Lines(text) {
		path, content, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(path, "/") {
			files[path] = File{content + "\n", 0o644}
		}
	}
	return files
}
