package images

import (
	"sync"

	"minikcm.dev/minikcm/internal/podspec"
)

// PullErrors are the messages of failing pulls, by full image name. The zero value has none.
type PullErrors struct{ byName sync.Map }

func (e *PullErrors) Set(name, message string) {
	if message == "" {
		e.byName.Delete(name)
	} else {
		e.byName.Store(name, message)
	}
}

func (e *PullErrors) Get(image string) string {
	message, _ := e.byName.Load(podspec.ImageName(image))
	text, _ := message.(string)
	return text
}
