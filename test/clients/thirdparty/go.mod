module minikcm.dev/minikcm/test/clients/thirdparty

go 1.26.6

require minikcm.dev/minikcm/client v0.0.0

replace minikcm.dev/minikcm/client => ../../../client
