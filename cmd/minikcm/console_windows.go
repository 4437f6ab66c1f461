package main

import (
	"os"
	"syscall"
)

// enableVirtualTerminalProcessing lets a console understand the escape sequences of terminals.
const enableVirtualTerminalProcessing = 0x4

// prepareConsole makes the console of this process show colors. It fails where the output is no
// console, which needs no colors.
func prepareConsole() {
	setMode := syscall.NewLazyDLL("kernel32.dll").NewProc("SetConsoleMode")
	for _, file := range []*os.File{os.Stdout, os.Stderr} {
		var mode uint32
		if syscall.GetConsoleMode(syscall.Handle(file.Fd()), &mode) == nil {
			_, _, _ = setMode.Call(file.Fd(), uintptr(mode|enableVirtualTerminalProcessing))
		}
	}
}
