package kubeletsim

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// toldLog is the output that a pod's annotations tell of: the text when a run begins
// and then, if every is not 0, again and again.
type toldLog struct {
	text  string
	every time.Duration
}

// toldOutput reads AnnotationLog and AnnotationLogEvery for a container.
func toldOutput(pod *corev1.Pod, ref containerRef) (toldLog, bool) {
	if len(pod.Annotations) == 0 {
		return toldLog{}, false
	}
	a := annotations{pod: pod, container: ref.Name, own: ref.kind == initContainer}
	text, ok := a.get(AnnotationLog)
	if !ok || text == "" {
		return toldLog{}, ok
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	told := toldLog{text: text}
	a.duration(AnnotationLogEvery, &told.every)
	return told, true
}

func (t toldLog) run(p *process) error {
	for {
		p.write("Stdout", t.text)
		if t.every == 0 {
			return nil
		}
		if err := p.spend(); err != nil {
			return err
		}
		p.skip(t.every, strings.Count(t.text, "\n"))
		if err := p.sleep(t.every); err != nil {
			return err
		}
	}
}
