module minikcm.dev/minikcm/client

go 1.21
