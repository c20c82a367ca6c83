package dev.rollcall.solr;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.concurrent.TimeUnit;
import javax.servlet.DispatcherType;
import org.apache.solr.common.cloud.ClusterProperties;
import org.apache.solr.common.cloud.SolrZkClient;
import org.apache.solr.servlet.CoreContainerProvider;
import org.apache.solr.servlet.SolrDispatchFilter;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.rewrite.handler.RewriteHandler;
import org.eclipse.jetty.rewrite.handler.RewriteRegexRule;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.servlet.DefaultServlet;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * One SolrCloud node: Solr's own servlet filter in an embedded Jetty, where the packaged Solr has Jetty start it from a web
 * application. It is told everything by the system properties that bin/solr sets; see entrypoint.sh.
 */
public final class SolrNode {
  private static final int STOP_TIMEOUT_MS = 15_000;

  public static void main(String[] args) throws Exception {
    prepareCluster(required("zkHost"));
    CoreContainerProvider cores = new CoreContainerProvider();
    Server server = new Server(new QueuedThreadPool(200, 8));
    server.addConnector(connector(server));
    server.setHandler(handler(cores));
    server.setStopAtShutdown(true);
    server.setStopTimeout(STOP_TIMEOUT_MS);
    server.start();
    if (!serves(cores)) {
      // Such as without ZooKeeper. A server that serves nothing would stand for ever; one that ends is started again.
      System.err.println("the node did not start; the log above says why");
      System.exit(1);
    }
    System.out.println("node is up: " + required("host") + ":" + port());
    server.join();
  }

  /** Solr only logs that it could not start; the one method that tells is not public. */
  private static boolean serves(CoreContainerProvider cores) throws ReflectiveOperationException {
    Method get = CoreContainerProvider.class.getDeclaredMethod("getCoreContainer");
    get.setAccessible(true);
    try {
      return get.invoke(cores) != null;
    } catch (InvocationTargetException e) {
      return false;
    }
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
    try (SolrZkClient zk =
        new SolrZkClient.Builder().withUrl(zkHost).withTimeout(30, TimeUnit.SECONDS).build()) {
      if (tls()) {
        new ClusterProperties(zk).setClusterProperty("urlScheme", "https");
      }
      if (!securityFile.isEmpty()) {
        try {
          zk.create("/security.json", Files.readAllBytes(Path.of(securityFile)), CreateMode.PERSISTENT, true);
        } catch (KeeperException.NodeExistsException e) {
          // Another node was first, or somebody has changed it since; either is right.
        }
      }
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

  private static Handler handler(CoreContainerProvider cores) throws Exception {
    ServletContextHandler solr = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    solr.setContextPath("/solr");
    solr.addEventListener(cores);
    solr.addFilter(SolrDispatchFilter.class, "/*", EnumSet.of(DispatcherType.REQUEST));
    ServletHolder rest = new ServletHolder("default", new DefaultServlet());
    rest.setInitParameter("dirAllowed", "false");
    solr.addServlet(rest, "/");
    solr.setResourceBase(Files.createTempDirectory("solr-web").toString());

    // The newer interface lives at /api, and inside at /solr/____v2.
    RewriteHandler rewrite = new RewriteHandler();
    rewrite.setRewriteRequestURI(true);
    rewrite.setRewritePathInfo(false);
    rewrite.setOriginalPathAttribute("requestedPath");
    rewrite.addRule(new RewriteRegexRule("/api(.*)", "/solr/____v2$1"));
    rewrite.setHandler(solr);
    return rewrite;
  }

  private SolrNode() {}
}
