package main

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
)

// openLink opens a link in the browser of the desktop, and says so if that is not possible.
func openLink(errOut io.Writer, link string) {
	program, args := "xdg-open", []string{link}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	}
	opener := exec.Command(program, args...)
	if err := opener.Start(); err != nil {
		_, _ = fmt.Fprintf(errOut, "No browser can be opened here (%v): open the link yourself.\n", err)
		return
	}
	go func() { _ = opener.Wait() }() // its failure is the desktop's to report
}
