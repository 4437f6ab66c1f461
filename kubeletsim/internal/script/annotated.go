package script

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// AnnotatedLog is the output that a pod's annotations declare: Text at the start of a run and
// then, if Every is not 0, again after each such period.
type AnnotatedLog struct {
	Text  string
	Every time.Duration
}

// AnnotatedLogOf reads AnnotationLog and AnnotationLogEvery for a container; false if there is
// none.
func AnnotatedLogOf(pod *corev1.Pod, ref podspec.Container) (AnnotatedLog, bool) {
	if len(pod.Annotations) == 0 {
		return AnnotatedLog{}, false
	}
	a := podspec.Annotations{Pod: pod, Container: ref.Name, NamedOnly: ref.Kind == podspec.InitContainer}
	text, ok := a.Get(podspec.AnnotationLog)
	if !ok || text == "" {
		return AnnotatedLog{}, ok
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	log := AnnotatedLog{Text: text}
	a.Duration(podspec.AnnotationLogEvery, &log.Every)
	return log, true
}

func (t AnnotatedLog) Run(p *Process) error {
	for {
		p.Write("Stdout", t.Text)
		if t.Every == 0 {
			return nil
		}
		if err := p.spend(); err != nil {
			return err
		}
		p.skip(t.Every, strings.Count(t.Text, "\n"))
		if err := p.sleep(t.Every); err != nil {
			return err
		}
	}
}
