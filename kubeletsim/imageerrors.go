package kubeletsim

import (
	"sync"

	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// imageErrors are the messages of pulls that fail, by the images' full names.
type imageErrors struct{ byName sync.Map }

func (e *imageErrors) set(name, message string) {
	if message == "" {
		e.byName.Delete(name)
	} else {
		e.byName.Store(name, message)
	}
}

func (e *imageErrors) get(image string) string {
	message, _ := e.byName.Load(podspec.ImageName(image))
	text, _ := message.(string)
	return text
}
