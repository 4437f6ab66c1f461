package apiserver

import (
	"maps"
	"net/http"

	"github.com/gorilla/mux"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/statusz"
	"k8s.io/component-base/compatibility"
)

// zpagesName is upstream's name of the program in /statusz and /flagz.
const zpagesName = "apiserver"

// shownFlags are the flags that /flagz shows.
type shownFlags map[string]string

func (f shownFlags) GetFlagz() map[string]string { return maps.Clone(f) }

// handles adapts a router to the function by which upstream's pages are installed.
type handles struct{ *mux.Router }

func (h handles) Handle(path string, handler http.Handler) { h.Router.Handle(path, handler) }

// routeZPages serves /statusz (KEP-4827) and /flagz (KEP-4828). Their times are the machine's, since
// they are about the process.
func (s *Server) routeZPages(router *mux.Router) {
	binary, err := version.Parse(s.opts.KubeVersion)
	if err != nil {
		binary = version.MustParse(DefaultVersion) // KubeVersion may be any name
	}
	effective := compatibility.NewEffectiveVersion(binary, false, version.MajorMinor(0, 0), version.MajorMinor(0, 0))
	paths := []string{flagz.DefaultFlagzPath, "/healthz", "/livez", "/metrics", "/readyz", statusz.DefaultStatuszPath, "/version"}
	statusz.Install(handles{router}, zpagesName, statusz.NewRegistry(effective, statusz.WithListedPaths(paths)))
	flagz.Install(handles{router}, zpagesName, shownFlags(s.opts.Flags))
}
