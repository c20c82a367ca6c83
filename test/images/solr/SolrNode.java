package dev.rollcall.solr;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * One SolrCloud node: Solr's own servlet filter in an embedded Jetty, where the packaged Solr has Jetty start it from a web
 * application. It is told everything by the system properties that bin/solr sets; see entrypoint.sh. What differs from one
 * major version to the next is in Web, of which there is one in each folder of lines/.
 */
public final class SolrNode {
  private static final int STOP_TIMEOUT_MS = 15_000;
  private static final int ZOOKEEPER_TIMEOUT_MS = 30_000;

  public static void main(String[] args) throws Exception {
    prepareCluster(required("zkHost"));
    Web web = new Web();
    Server server = new Server(new QueuedThreadPool(200, 8));
    server.addConnector(connector(server));
    server.setHandler(web.handler());
    server.setStopAtShutdown(true);
    server.setStopTimeout(STOP_TIMEOUT_MS);
    server.start();
    if (!web.serves()) {
      // Such as without ZooKeeper. A server that serves nothing would stand for ever; one that ends is started again.
      System.err.println("the node did not start; the log above says why");
      System.exit(1);
    }
    System.out.println("node is up: " + required("host") + ":" + port());
    server.join();
  }

  private static int port() {
    return Integer.getInteger("jetty.port", 8983);
  }

  private static boolean tls() {
    return System.getProperty("solr.jetty.keystore") != null;
  }

  private static String required(String property) {
    String value = System.getProperty(property);
    if (value == null || value.isEmpty()) {
      throw new IllegalArgumentException("system property " + property + " is missing");
    }
    return value;
  }

  /** Nodes agree on http or https, and on who may do what, through ZooKeeper; both must stand before the first one starts. */
  private static void prepareCluster(String zkHost) throws Exception {
    String securityFile = System.getProperty("solr.security.file", "");
    if (!tls() && securityFile.isEmpty()) {
      return;
    }
    CountDownLatch connected = new CountDownLatch(1);
    Watcher watcher = event -> {
      if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
        connected.countDown();
      }
    };
    ZooKeeper zk = new ZooKeeper(zkHost, ZOOKEEPER_TIMEOUT_MS, watcher);
    try {
      if (!connected.await(ZOOKEEPER_TIMEOUT_MS, TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException("no connection to ZooKeeper at " + zkHost);
      }
      if (tls()) {
        create(zk, "/clusterprops.json", "{\"urlScheme\":\"https\"}".getBytes(StandardCharsets.UTF_8));
      }
      if (!securityFile.isEmpty()) {
        create(zk, "/security.json", Files.readAllBytes(Path.of(securityFile)));
      }
    } finally {
      zk.close();
    }
  }

  private static void create(ZooKeeper zk, String path, byte[] content) throws Exception {
    try {
      zk.create(path, content, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    } catch (KeeperException.NodeExistsException e) {
      // Another node was first, or somebody has changed it since; either is right.
    }
  }

  private static ServerConnector connector(Server server) {
    HttpConfiguration http = new HttpConfiguration();
    http.setRequestHeaderSize(65_536);
    http.setSendServerVersion(false);
    ServerConnector c;
    if (tls()) {
      http.addCustomizer(new SecureRequestCustomizer(false));
      SslContextFactory.Server ssl = new SslContextFactory.Server();
      ssl.setKeyStorePath(required("solr.jetty.keystore"));
      ssl.setKeyStorePassword(System.getProperty("solr.jetty.keystore.password", ""));
      ssl.setTrustStorePath(required("solr.jetty.truststore"));
      ssl.setTrustStorePassword(System.getProperty("solr.jetty.truststore.password", ""));
      ssl.setNeedClientAuth(Boolean.getBoolean("solr.jetty.ssl.needClientAuth"));
      ALPNServerConnectionFactory alpn = new ALPNServerConnectionFactory();
      alpn.setDefaultProtocol("http/1.1");
      c = new ServerConnector(server, new SslConnectionFactory(ssl, alpn.getProtocol()), alpn,
          new HTTP2ServerConnectionFactory(http), new HttpConnectionFactory(http));
    } else {
      c = new ServerConnector(server, new HttpConnectionFactory(http), new HTTP2CServerConnectionFactory(http));
    }
    c.setHost(System.getProperty("solr.jetty.host", "127.0.0.1"));
    c.setPort(port());
    c.setIdleTimeout(120_000);
    return c;
  }

  private SolrNode() {}
}
