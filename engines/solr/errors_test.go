package solr

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

func TestErrorTexts(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, says string
	}{
		"json error": {500, `{"responseHeader":{"status":500},"error":{"msg":"KeeperErrorCode\n = Session expired","code":500}}`,
			"/solr/x LOOK: solr answered 500 Internal Server Error: KeeperErrorCode = Session expired"},
		"html": {401, `<html><head><title>Error 401 require authentication</title></head><body><h2>HTTP ERROR 401</h2></body></html>`,
			"/solr/x LOOK: solr answered 401 Unauthorized: Error 401 require authentication; the user or the password in the Secret of spec.connection.credentialsSecret is wrong"},
		"other text":       {502, "upstream ann:" + testPassword, "/solr/x LOOK: solr answered 502 Bad Gateway"},
		"error with 200":   {200, `{"responseHeader":{"status":0},"error":{"msg":"no","code":400}}`, "/solr/x LOOK: solr answered 400 Bad Request: no"},
		"status with 200":  {200, `{"responseHeader":{"status":"500"}}`, "/solr/x LOOK: solr answered 500 Internal Server Error"},
		"exception":        {200, `{"exception":{"msg":"Collection: x not found","rspCode":400}}`, "/solr/x LOOK: solr answered 400 Bad Request: Collection: x not found"},
		"echoed":           {403, `{"error":{"msg":"no ` + testPassword + ` no","code":403}}`, "/solr/x LOOK: solr answered 403 Forbidden: no [hidden] no; the user in the Secret of spec.connection.credentialsSecret lacks a permission"},
		"health's message": {503, `{"status":"FAILURE","message":"Host Unavailable: Not connected to zk"}`, "/solr/x LOOK: solr answered 503 Service Unavailable: Host Unavailable: Not connected to zk"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			host, port := webtest.Address(t, server.URL)
			e := mustNew(t, testOptions(Options{Access: web.Access{Host: host, Port: port}}))
			var body bytes.Buffer
			err := e.api.ask(t.Context(), web.Request{Path: "/solr/x", Params: web.Query("action", "LOOK", "q", "v"), Timeout: time.Minute}, &body)
			require.EqualError(t, err, c.says)
			require.Equal(t, c.body, body.String(), "what it said can be looked at")
		})
	}
}
