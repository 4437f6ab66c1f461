package kubeletsim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// programOf is what a container's command is, with its environment as far as the pod
// tells it.
func programOf(pod *corev1.Pod, c *corev1.Container) *program {
	words := wordsOf(c.Command, c.Args)
	if len(words) == 0 {
		return &program{}
	}
	g := knownEnv(pod, c)
	g.words = make([]string, len(words))
	for i, word := range words {
		var known bool
		if g.words[i], known = g.expand(word); !known {
			g.words = nil
			break
		}
	}
	return g
}

// knownEnv is no program, with a container's environment as far as the pod tells it.
func knownEnv(pod *corev1.Pod, c *corev1.Container) *program {
	g := &program{env: map[string]string{}, hidden: map[string]bool{}, hiddenEnv: len(c.EnvFrom) > 0}
	g.env["HOSTNAME"] = hostname(pod)
	for i := range c.Env {
		v := &c.Env[i]
		value, known := v.Value, true
		if v.ValueFrom != nil {
			value, known = fieldValue(pod, v.ValueFrom.FieldRef)
		} else {
			value, known = g.expand(value)
		}
		delete(g.env, v.Name)
		g.hidden[v.Name] = !known
		if known {
			g.env[v.Name] = value
		}
	}
	return g
}

func hostname(pod *corev1.Pod) string {
	switch {
	case pod.Spec.HostNetwork:
		return pod.Spec.NodeName
	case pod.Spec.Hostname != "":
		return pod.Spec.Hostname
	}
	return pod.Name
}

// fieldValue is what the downward API gives for a field of the pod.
func fieldValue(pod *corev1.Pod, ref *corev1.ObjectFieldSelector) (string, bool) {
	if ref == nil {
		return "", false
	}
	switch ref.FieldPath {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return string(pod.UID), true
	case "spec.nodeName":
		return pod.Spec.NodeName, true
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, true
	case "status.podIP":
		return pod.Status.PodIP, pod.Status.PodIP != ""
	case "status.hostIP":
		return pod.Status.HostIP, pod.Status.HostIP != ""
	}
	for path, values := range map[string]map[string]string{"metadata.labels": pod.Labels, "metadata.annotations": pod.Annotations} {
		if key, ok := strings.CutPrefix(ref.FieldPath, path+"['"); ok {
			return values[strings.TrimSuffix(key, "']")], true
		}
	}
	return "", false
}

// expand replaces the references $(NAME) to variables that are there; $$ is a dollar
// sign (API docs of Container.command). known is false if it refers to what only the
// cluster knows.
func (g *program) expand(text string) (expanded string, known bool) {
	if !strings.Contains(text, "$") {
		return text, true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		if strings.HasPrefix(rest, "$$") {
			b.WriteByte('$')
			i++
			continue
		}
		end := strings.IndexByte(rest, ')')
		if !strings.HasPrefix(rest, "$(") || end < 0 {
			b.WriteByte(text[i])
			continue
		}
		name := rest[2:end]
		value, ok := g.env[name]
		switch {
		case ok:
			b.WriteString(value)
		case g.hidden[name]:
			return "", false
		default:
			b.WriteString(rest[:end+1])
		}
		i += end
	}
	return b.String(), true
}
